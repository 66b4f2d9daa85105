/** The complete logs of one range, read from one endpoint together with the header of its last block. */
import type { Client } from 'viem'
import { quantity } from '../../lib/hex-bytes.ts'
import type { BlockRange } from '../../model/block-range.ts'
import type { BlockHeader, UnixSeconds } from '../../model/message.ts'
import { limitsOf } from '../endpoint-limits.ts'
import type { Endpoints } from '../endpoints/endpoints.ts'
import { getHeader, getLogs, type Header, inOrder, type LogFilter, type RpcLog, timeIn, twoBlocks } from '../rpc.ts'
import { BadAnswer, classify, mayBeHeavy, RpcFailed } from '../rpc-error.ts'
import { isHeavy, logsOfBlock } from './block-logs.ts'
import { readByPieces } from './filter-pieces.ts'
import { requireHistory, withSilentBlocks } from './silent-blocks.ts'

export type LogRange = {
  from: number
  to: number
  logs: readonly RpcLog[]
  /** Headers of the blocks with logs, in order. */
  headers: readonly BlockHeader[]
  last: Header
}

export type Pieces<T> = {
  /** In order. */
  pieces: T[]
  /** Width after a failure that a narrower range avoids; undefined where the range was answered at once. */
  narrowedTo: number | undefined
}

/** One read of a range at one endpoint. */
type RangeRead<T> = (client: Client, from: number, to: number) => Promise<T>

/** Runs `read` for the range, or for pieces of it where every endpoint refuses the width, or fails at it. */
export async function readInPieces<T>(
  endpoints: Endpoints,
  from: number,
  to: number,
  read: RangeRead<T>,
  onSplit?: (from: number, to: number, reason: string) => void,
): Promise<Pieces<T>> {
  const where = { atLeast: to, oldest: from, blocks: to - from + 1 }
  try {
    return { pieces: [await endpoints.run((client) => read(client, from, to), where)], narrowedTo: undefined }
  } catch (error) {
    const width = await narrowerWidth(endpoints, error, { from, to })
    if (width === undefined) throw error
    onSplit?.(from, to, (error as Error).message)
    const tooMany = (error as RpcFailed).problem.kind === 'too-many-results'
    const pieces: T[] = []
    let narrowedTo = tooMany ? width : undefined
    for (let first = from; first <= to; ) {
      // A width applies to every piece, a number of logs only to this one.
      const piece = Math.max(1, Math.min(width, endpoints.maxBlocks()))
      const last = tooMany && first > from ? to : Math.min(to, first + (tooMany ? width : piece) - 1)
      const part = await readInPieces(endpoints, first, last, read, onSplit)
      pieces.push(...part.pieces)
      if (part.narrowedTo !== undefined) narrowedTo = Math.min(narrowedTo ?? part.narrowedTo, part.narrowedTo)
      first = last + 1
    }
    return { pieces, narrowedTo }
  }
}

/** A narrower width after a failure; undefined where it would not help. */
export async function narrowerWidth(
  endpoints: Endpoints,
  error: unknown,
  { from, to }: BlockRange,
): Promise<number | undefined> {
  if (!(error instanceof RpcFailed) || from === to) return undefined
  const width = to - from + 1
  const half = Math.ceil(width / 2)
  const { problem } = error
  if (problem.kind === 'too-many-results') {
    const { suggested } = problem
    const isUsable = suggested?.from === from && suggested.to >= from && suggested.to < to
    return isUsable ? suggested.to - from + 1 : half
  }
  // Another endpoint may have the blocks, and refuses the width.
  if (problem.kind === 'pruned' && !error.isEverywhere && error.isWidthRefused) return half
  if (problem.kind === 'range-capped') {
    const maxBlocks = endpoints.maxBlocks()
    return maxBlocks < width ? Math.max(1, maxBlocks) : half
  }
  if (!mayBeHeavy(error) || !(await hasBlock(endpoints, to))) return undefined
  endpoints.narrow(error.endpoint, width)
  return Math.max(1, Math.min(half, endpoints.maxBlocks()))
}

/** Whether an endpoint answers at all, and has the block: then a failure at a range is likely to be due to its width. */
async function hasBlock(endpoints: Endpoints, number: number): Promise<boolean> {
  try {
    return await endpoints.run(async (client) => (await getHeader(client, number)) !== undefined, { atLeast: number })
  } catch {
    return false
  }
}

/** The logs of a range and its last header. One block has other ways to be read where it fails. */
export async function readLogs(client: Client, filter: LogFilter, from: number, to: number) {
  return readWhole(client, filter, from, to).catch(async (error: unknown) => {
    const last = from === to && isHeavy(error) ? await getHeader(client, to).catch(() => undefined) : undefined
    if (!last) throw error
    return { logs: await logsOfBlock(client, filter, last), last }
  })
}

/** Pieces of the filter are of one branch: each has the last header in its own answer. */
async function readWhole(client: Client, filter: LogFilter, from: number, to: number) {
  const parts = await readByPieces(client, filter, (piece) => readPiece(client, piece, from, to))
  const [first, ...others] = parts
  const other = others.find(({ last }) => last.hash !== first?.last.hash)
  if (!first) throw new BadAnswer('malformed', 'A filter without addresses has no logs.')
  if (other) throw twoBlocks(to, first.last.hash, other.last.hash)
  return others.length === 0
    ? first
    : {
        logs: inOrder(
          client,
          parts.flatMap(({ logs }) => logs),
        ),
        last: first.last,
      }
}

/** A node that is behind answers `[]` above its head, so the last header is required from the same node. */
async function readPiece(client: Client, filter: LogFilter, from: number, to: number) {
  const [logs, last] = await Promise.all([getLogs(client, filter, { from, to }), getHeader(client, to)])
  if (!last) throw new BadAnswer('behind', `The node has no block ${to} yet, so its logs up to there prove nothing.`)
  const ofLast = logs.at(-1)
  if (ofLast && Number(ofLast.blockNumber) === to && ofLast.blockHash !== last.hash) {
    throw twoBlocks(to, ofLast.blockHash, last.hash)
  }
  return { logs, last }
}

/** The logs of one window of a search down to block `oldest`. An answer below a cut of the node's history is refused. */
export async function readWindow(
  client: Client,
  filter: LogFilter,
  { from, to, oldest }: BlockRange & { oldest: number },
): Promise<RpcLog[]> {
  const { logs, last } = await readLogs(client, filter, from, to)
  const limits = limitsOf(client)
  // A node that has all of the search is asked once.
  const isWhole = !limits.lacks(oldest) && (await hasHistory(client, oldest, last))
  if (!isWhole) {
    limits.noteLack(oldest)
    await requireHistory(client, from, last)
  }
  return logs
}

async function hasHistory(client: Client, from: number, last: Header): Promise<boolean> {
  try {
    await requireHistory(client, from, last)
    return true
  } catch (error) {
    if (['pruned', 'behind'].includes(classify(error).kind)) return false
    throw error
  }
}

/** The header of the first block is the lower bound of all times. */
export async function readRange(client: Client, filter: LogFilter, from: number, to: number): Promise<LogRange> {
  const [{ logs: answered, last }, first] = await Promise.all([
    readLogs(client, filter, from, to),
    from < to ? getHeader(client, from) : undefined,
  ])
  if (answered.length === 0 || (from < to && !first)) await requireHistory(client, from, last)
  const logs = await withSilentBlocks(client, filter, {
    from,
    to,
    logs: answered,
    ends: first ? [first, last] : [last],
  })
  const earliest = first?.timestamp ?? last.timestamp
  return { from, to, logs, headers: await headersOf(client, logs, earliest, last), last }
}

/**
 * Times come from the logs where the node includes them, else from headers; never interpolated. A chain's time never decreases: where it
 * would, headers are read for all blocks.
 */
async function headersOf(
  client: Client,
  logs: readonly RpcLog[],
  earliest: UnixSeconds,
  last: Header,
): Promise<BlockHeader[]> {
  const firsts = logs.filter((log, index) => log.blockNumber !== logs[index - 1]?.blockNumber)
  const timed = firsts.map((log) => ({ log, timestamp: timeIn(log.blockTimestamp, log.blockNumber === '0x0') }))
  const askUnless = (isTrusted: (timestamp: UnixSeconds) => boolean) =>
    Promise.all(
      timed.map(async ({ log: { blockNumber, blockHash: hash }, timestamp }): Promise<BlockHeader> => {
        const number = Number(blockNumber)
        if (timestamp !== undefined && isTrusted(timestamp)) return { number, hash, timestamp }
        const header = await getHeader(client, number)
        if (header?.hash !== hash) throw twoBlocks(number, header?.hash, hash)
        return { number, hash, timestamp: header.timestamp }
      }),
    )
  // A promise a block costs more than all the rest.
  const told = timed.flatMap(({ log: { blockNumber, blockHash: hash }, timestamp }) =>
    timestamp === undefined ? [] : { number: quantity(blockNumber), hash, timestamp },
  )
  const headers = told.length === timed.length ? told : await askUnless(() => true)
  if (isInOrder(headers, earliest, last)) return headers
  const asked = await askUnless(() => false)
  if (isInOrder(asked, earliest, last)) return asked
  throw new BadAnswer('contradictory', `The node answered times up to block ${last.number} that go backwards.`)
}

function isInOrder(headers: readonly BlockHeader[], earliest: UnixSeconds, last: Header): boolean {
  const times = [earliest, ...headers.map(({ timestamp }) => timestamp), last.timestamp]
  return times.every((time, index) => time >= (times[index - 1] ?? 0))
}
