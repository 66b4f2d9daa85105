/** The logs of one range, whole: read from one endpoint together with the header of its last block. */
import type { Client } from 'viem'
import type { BlockHeader, UnixSeconds } from '../model/message.ts'
import type { Endpoints } from './endpoints.ts'
import { getHeader, getLogs, type Header, type LogFilter, type RpcLog, timeIn, twoBlocks } from './rpc.ts'
import { BadAnswer, RpcFailed } from './rpc-error.ts'

export type LogRange = {
  from: number
  to: number
  logs: readonly RpcLog[]
  /** Of the blocks that have logs, in order. */
  headers: readonly BlockHeader[]
  last: Header
}

export type Pieces<T> = {
  /** In order. */
  pieces: T[]
  /** The width that was left after “too many results”; undefined where it did not come to that. */
  narrowedTo: number | undefined
}

/** What is asked about a range, of one endpoint. */
type RangeRead<T> = (client: Client, from: number, to: number) => Promise<T>

/** `read` for one range, or for its pieces where no endpoint answers it in one. */
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
      // A cap holds for every piece, a number of logs only for this one.
      const last = Math.min(to, tooMany && first > from ? to : first + width - 1)
      const part = await readInPieces(endpoints, first, last, read, onSplit)
      pieces.push(...part.pieces)
      if (part.narrowedTo !== undefined) narrowedTo = Math.min(narrowedTo ?? part.narrowedTo, part.narrowedTo)
      first = last + 1
    }
    return { pieces, narrowedTo }
  }
}

/** How many blocks to ask for instead; undefined where fewer would not help. */
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
    // Nobody answers in time: the node may be busy with too wide a range.
    case 'timeout':
      return half
    default:
      return undefined
  }
}

/** A node behind its peers answers `[]` past its own head, so the last header is demanded from the same one. */
export async function readLogs(client: Client, filter: LogFilter, from: number, to: number) {
  const [logs, last] = await Promise.all([getLogs(client, filter, { from, to }), getHeader(client, to)])
  if (!last) throw new BadAnswer('behind', `The node has no block ${to} yet, so its logs up to there prove nothing.`)
  const ofLast = logs.at(-1)
  if (ofLast && Number(ofLast.blockNumber) === to && ofLast.blockHash !== last.hash) {
    throw twoBlocks(to, ofLast.blockHash, last.hash)
  }
  return { logs, last }
}

/** The header of the first block is the lower bound of all times; a pruned node may not have it. */
export async function readRange(client: Client, filter: LogFilter, from: number, to: number): Promise<LogRange> {
  const [{ logs, last }, first] = await Promise.all([
    readLogs(client, filter, from, to),
    from < to ? getHeader(client, from) : undefined,
  ])
  const earliest = from < to ? (first?.timestamp ?? 0) : last.timestamp
  return { from, to, logs, headers: await headersOf(client, logs, earliest, last), last }
}

/**
 * Times come from the logs where the node writes them there, else from headers; never interpolated. A chain's time never
 * goes backwards: where that of some log would, the headers are asked for all of them.
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
