/** The complete logs of one range, read from one endpoint together with the header of its last block. */
import type { Client } from 'viem'
import type { BlockHeader, UnixSeconds } from '../model/message.ts'
import type { Endpoints } from './endpoints.ts'
import { getHeader, getLogs, type Header, type LogFilter, type RpcLog, timeIn, twoBlocks } from './rpc.ts'
import { BadAnswer, RpcFailed } from './rpc-error.ts'
import { withSilentBlocks } from './silent-blocks.ts'

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
  /** Width after “too many results”; undefined where the range was answered at once. */
  narrowedTo: number | undefined
}

/** One read of a range at one endpoint. */
type RangeRead<T> = (client: Client, from: number, to: number) => Promise<T>

/** Runs `read` for the range, or for pieces of it where every endpoint refuses the width. */
export async function readInPieces<T>(
  endpoints: Endpoints,
  from: number,
  to: number,
  read: RangeRead<T>,
  onSplit?: (from: number, to: number, reason: string) => void,
): Promise<Pieces<T>> {
  const where = { atLeast: to, blocks: to - from + 1 }
  try {
    return { pieces: [await endpoints.run((client) => read(client, from, to), where)], narrowedTo: undefined }
  } catch (error) {
    const width = error instanceof RpcFailed ? smallerWidth(error, from, to, endpoints.maxBlocks()) : undefined
    if (width === undefined) throw error
    onSplit?.(from, to, (error as Error).message)
    const tooMany = (error as RpcFailed).problem.kind !== 'range-capped'
    const pieces: T[] = []
    let narrowedTo = tooMany ? width : undefined
    for (let first = from; first <= to; ) {
      // A cap applies to every piece, a number of logs only to this one.
      const last = Math.min(to, tooMany && first > from ? to : first + width - 1)
      const part = await readInPieces(endpoints, first, last, read, onSplit)
      pieces.push(...part.pieces)
      if (part.narrowedTo !== undefined) narrowedTo = Math.min(narrowedTo ?? part.narrowedTo, part.narrowedTo)
      first = last + 1
    }
    return { pieces, narrowedTo }
  }
}

/** A narrower width; undefined where it would not help. */
export function smallerWidth({ problem }: RpcFailed, from: number, to: number, maxBlocks: number): number | undefined {
  const width = to - from + 1
  const half = Math.ceil(width / 2)
  if (width === 1) return undefined
  switch (problem.kind) {
    case 'too-many-results': {
      const { suggested } = problem
      const isUsable = suggested?.from === from && suggested.to >= from && suggested.to < to
      return isUsable ? suggested.to - from + 1 : half
    }
    case 'range-capped':
      return maxBlocks < width ? Math.max(1, maxBlocks) : half
    // Timeouts may come from too wide a range.
    case 'timeout':
      return half
    default:
      return undefined
  }
}

/** A node that is behind answers `[]` above its head, so the last header is required from the same node. */
export async function readLogs(client: Client, filter: LogFilter, from: number, to: number) {
  const [logs, last] = await Promise.all([getLogs(client, filter, { from, to }), getHeader(client, to)])
  if (!last) throw new BadAnswer('behind', `The node has no block ${to} yet, so its logs up to there prove nothing.`)
  const ofLast = logs.at(-1)
  if (ofLast && Number(ofLast.blockNumber) === to && ofLast.blockHash !== last.hash) {
    throw twoBlocks(to, ofLast.blockHash, last.hash)
  }
  return { logs, last }
}

/** The header of the first block is the lower bound of all times; a pruned node may lack it. */
export async function readRange(client: Client, filter: LogFilter, from: number, to: number): Promise<LogRange> {
  const [{ logs: told, last }, first] = await Promise.all([
    readLogs(client, filter, from, to),
    from < to ? getHeader(client, from) : undefined,
  ])
  const logs = await withSilentBlocks(client, filter, { from, to, logs: told })
  const earliest = from < to ? (first?.timestamp ?? 0) : last.timestamp
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
  const told = firsts.map((log) => ({ log, timestamp: timeIn(log.blockTimestamp, log.blockNumber === '0x0') }))
  const askUnless = (isTrusted: (timestamp: UnixSeconds) => boolean) =>
    Promise.all(
      told.map(async ({ log: { blockNumber, blockHash: hash }, timestamp }): Promise<BlockHeader> => {
        const number = Number(blockNumber)
        if (timestamp !== undefined && isTrusted(timestamp)) return { number, hash, timestamp }
        const header = await getHeader(client, number)
        if (header?.hash !== hash) throw twoBlocks(number, header?.hash, hash)
        return { number, hash, timestamp: header.timestamp }
      }),
    )
  const headers = await askUnless(() => true)
  if (isInOrder(headers, earliest, last)) return headers
  const asked = await askUnless(() => false)
  if (isInOrder(asked, earliest, last)) return asked
  throw new BadAnswer('contradictory', `The node answered times up to block ${last.number} that go backwards.`)
}

function isInOrder(headers: readonly BlockHeader[], earliest: UnixSeconds, last: Header): boolean {
  const times = [earliest, ...headers.map(({ timestamp }) => timestamp), last.timestamp]
  return times.every((time, index) => time >= (times[index - 1] ?? 0))
}
