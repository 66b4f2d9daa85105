/** The newest log that matches a filter, searched backwards in growing windows. */
import type { Client } from 'viem'
import type { Endpoints } from '../rpc/endpoints.ts'
import { readInPieces, readLogs } from '../rpc/log-range.ts'
import type { LogFilter, RpcLog } from '../rpc/rpc.ts'

export type BlockWindow = {
  /** Width in blocks. */
  first: number
  most: number
}

/** Undefined where the range has none. */
export async function lastLog(
  endpoints: Endpoints,
  filter: LogFilter,
  { from, to }: { from: number; to: number },
  window: BlockWindow,
): Promise<RpcLog | undefined> {
  const read = (client: Client, low: number, high: number) => readLogs(client, filter, low, high)
  let width = window.first
  for (let last = to; last >= from; ) {
    const first = Math.max(from, last - Math.min(width, endpoints.maxBlocks()) + 1)
    const { pieces, narrowedTo } = await readInPieces(endpoints, first, last, read)
    const found = pieces.findLast(({ logs }) => logs.length > 0)?.logs.at(-1)
    if (found) return found
    last = first - 1
    width = narrowedTo ?? Math.min(window.most, width * 2)
  }
  return undefined
}
