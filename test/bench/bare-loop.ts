/** The floor of a backfill: logs fetched and parsed range by range, as many at once as ours, and dropped. */
import { V3_TOPICS } from '../../ingest/decode/decode-v3.ts'
import { V4_TOPICS } from '../../ingest/decode/decode-v4.ts'
import type { RpcLog } from '../../ingest/rpc/rpc.ts'

export const IN_FLIGHT = 4

export type Chain = {
  name: string
  swapsPerBlock: number
  /** The width at which the range scheduler settles on such a chain. */
  rangeBlocks: number
}

export const DENSE: Chain = { name: 'dense', swapsPerBlock: 3, rangeBlocks: 2_000 }
export const SPARSE: Chain = { name: 'sparse', swapsPerBlock: 0.02, rangeBlocks: 20_000 }

export async function bareLoop(url: string, blocks: number, { rangeBlocks }: Chain): Promise<void> {
  let next = 1
  async function lane(): Promise<void> {
    while (next <= blocks) {
      const from = next
      next += rangeBlocks
      await getChainLogs(url, from, Math.min(blocks, next - 1))
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane))
}

const TOPICS = [[...Object.values(V3_TOPICS), ...Object.values(V4_TOPICS)]]

export async function getChainLogs(url: string, from: number, to: number): Promise<RpcLog[]> {
  const filter = { topics: TOPICS, fromBlock: hex(from), toBlock: hex(to) }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [filter] })
  const answer = await fetch(url, { method: 'POST', body })
  return ((await answer.json()) as { result: RpcLog[] }).result
}

function hex(value: number): string {
  return `0x${value.toString(16)}`
}
