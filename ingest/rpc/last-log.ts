/** Searches backwards for the newest logs. */
import type { Client } from 'viem'
import type { Endpoints } from './endpoints.ts'
import { readInPieces, readLogs } from './log-range.ts'
import type { LogFilter, RpcLog } from './rpc.ts'

const WINDOW_BLOCKS = { first: 500, most: 1_000_000 }

type Blocks = { from: number; to: number }

/** The newest log that matches a filter. Undefined where the range has none. */
export async function lastLog(endpoints: Endpoints, filter: LogFilter, range: Blocks): Promise<RpcLog | undefined> {
  for await (const log of newestFirst(endpoints, filter, range)) return log
  return undefined
}

/** The logs that match a filter, newest first, read in growing windows as far as they are asked for. */
export async function* newestFirst(
  endpoints: Endpoints,
  filter: LogFilter,
  { from, to }: Blocks,
): AsyncGenerator<RpcLog, void> {
  const read = (client: Client, low: number, high: number) => readLogs(client, filter, low, high)
  let width = WINDOW_BLOCKS.first
  for (let last = to; last >= from; ) {
    const first = Math.max(from, last - Math.min(width, endpoints.maxBlocks()) + 1)
    const { pieces, narrowedTo } = await readInPieces(endpoints, first, last, read)
    for (const { logs } of pieces.toReversed()) yield* logs.toReversed()
    last = first - 1
    width = narrowedTo ?? Math.min(WINDOW_BLOCKS.most, width * 2)
  }
}
