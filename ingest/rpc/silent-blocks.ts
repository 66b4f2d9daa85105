/**
 * Blocks without logs in an answer for a range. go-ethereum (up to 1.17 at least) may leave a whole block out of the answer while its log index
 * grows past a map of 65,536 values: it counts the block as searched, though only a part of it was indexed.
 */
import type { Client } from 'viem'
import { logsOfBlock } from './block-logs.ts'
import { bloomVerdict } from './bloom.ts'
import { getHeader, type LogFilter, type RpcLog } from './rpc.ts'

/** More are no exception: then a look at each would cost more than the range, and the audit reads all blocks again. */
const MAX_SILENT_BLOCKS = 8
/** One of so many blocks at most is silent where that is an exception. */
const MIN_BLOCKS_PER_SILENT = 8

/**
 * `logs` with those of silent blocks whose bloom may have some, in order. A node answers for a block's hash without its index, which may lack the
 * block for a second time; some nodes take no hash.
 */
export async function withSilentBlocks(
  client: Client,
  filter: LogFilter,
  { from, to, logs }: { from: number; to: number; logs: readonly RpcLog[] },
): Promise<readonly RpcLog[]> {
  const again = await Promise.all(silentBlocks(from, to, logs).map((block) => logsAgain(client, filter, block)))
  const found = again.flat()
  if (found.length === 0) return logs
  // Logs of one block come from one answer, in order: a stable sort keeps that.
  return [...logs, ...found].sort((a, b) => Number(a.blockNumber) - Number(b.blockNumber))
}

function silentBlocks(from: number, to: number, logs: readonly RpcLog[]): number[] {
  const blocks = to - from + 1
  const heard = new Set(logs.map((log) => log.blockNumber))
  const count = blocks - heard.size
  if (count > Math.min(MAX_SILENT_BLOCKS, blocks / MIN_BLOCKS_PER_SILENT)) return []
  const numbers = new Set([...heard].map(Number))
  return Array.from({ length: blocks }, (_, index) => from + index).filter((block) => !numbers.has(block))
}

async function logsAgain(client: Client, filter: LogFilter, block: number): Promise<readonly RpcLog[]> {
  const header = await getHeader(client, block)
  if (!header || bloomVerdict(header.logsBloom, filter) !== 'maybe') return []
  return logsOfBlock(client, filter, header)
}
