/** Searches backwards for the newest logs. */
import type { Client } from 'viem'
import type { BlockRange } from '../model/block-range.ts'
import { asSearch, type Endpoints } from '../rpc/endpoints/endpoints.ts'
import { readInPieces, readWindow } from '../rpc/logs/log-range.ts'
import type { LogFilter, RpcLog } from '../rpc/rpc.ts'
import { isPruned } from '../rpc/rpc-error.ts'
import { isReadAfterAll } from './history-end.ts'

const WINDOW_BLOCKS = { first: 500, most: 1_000_000 }
/** Bounds a search where endpoints take narrow ranges: some hours of the chain for ten blocks at once. */
const MAX_WINDOWS = 1_000

/** The newest log that matches a filter. Undefined where the range, as far as it is searched, has none. */
export async function lastLog(endpoints: Endpoints, filter: LogFilter, range: BlockRange): Promise<RpcLog | undefined> {
  for await (const log of newestFirst(endpoints, filter, range)) return log
  return undefined
}

/** The logs that match a filter, newest first, read in growing windows as far as they are asked for and endpoints have them. */
export async function* newestFirst(
  given: Endpoints,
  filter: LogFilter,
  { from, to }: BlockRange,
): AsyncGenerator<RpcLog, void> {
  const endpoints = asSearch(given)
  const read = (client: Client, low: number, high: number) =>
    readWindow(client, filter, { from: low, to: high, oldest: from })
  let width = WINDOW_BLOCKS.first
  let oldest = from
  for (let [last, windows] = [to, 0]; last >= from && windows < MAX_WINDOWS; windows++) {
    if (last < oldest) {
      // Bisection has found where the history ends.
      if (!(await isReadAfterAll(endpoints, last))) return
      oldest = from
    }
    const first = Math.max(oldest, last - Math.min(width, endpoints.maxBlocks()) + 1)
    const answer = await readInPieces(endpoints, first, last, read).catch((error: unknown) => {
      if (!isPruned(error)) throw error
    })
    if (!answer) {
      // The history ends above `first`: bisection finds where.
      oldest = first + 1
      width = Math.max(1, Math.ceil((last - first) / 2))
      continue
    }
    const { pieces, narrowedTo } = answer
    for (const logs of pieces.toReversed()) yield* logs.toReversed()
    last = first - 1
    width = narrowedTo ?? Math.min(WINDOW_BLOCKS.most, width * 2)
  }
}
