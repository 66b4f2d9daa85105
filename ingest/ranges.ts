/** Final history by ranges: as wide as the node allows, several in flight, given in order. */
import type { Client } from 'viem'
import type { BlockHeader } from './assemble.ts'
import { getHeader, getLogs, type Header, type LogFilter, type RpcLog } from './rpc.ts'
import { isTooLarge } from './too-large.ts'

export type LogRange = {
  from: number
  to: number
  logs: readonly RpcLog[]
  /** Of the blocks that have logs, in order. */
  headers: readonly BlockHeader[]
  last: Header
}

export type RangeOptions = {
  filter: LogFilter
  from: number
  to: number
  signal: AbortSignal
  onSplit?: (from: number, to: number, reason: string) => void
}

const FIRST_RANGE_BLOCKS = 500
const MAX_RANGE_BLOCKS = 20_000
const RANGES_IN_FLIGHT = 4
const CEILING_GROWTH = 1.05
/** An answer this long took long enough; ranges grow while answers are shorter. */
const GOOD_ANSWER_LOGS = 5_000

export async function* readRanges(client: Client, options: RangeOptions): AsyncGenerator<LogRange> {
  const { from, to, signal } = options
  let width = FIRST_RANGE_BLOCKS
  // A refused width is not tried again at once: it comes closer step by step, as logs grow sparse or the node kinder.
  let ceiling = MAX_RANGE_BLOCKS
  let next = from
  const inFlight: Promise<LogRange[]>[] = []

  function start(): void {
    const first = next
    const last = Math.min(to, first + width - 1)
    next = last + 1
    const answer = readRange(client, first, last, options)
    // Whoever awaits it in its turn sees the failure; until then it must not count as unhandled.
    answer.catch(() => undefined)
    inFlight.push(answer)
  }

  while (next <= to || inFlight.length > 0) {
    while (next <= to && inFlight.length < RANGES_IN_FLIGHT) start()
    const ranges = (await inFlight.shift()) ?? []
    signal.throwIfAborted()
    const logs = ranges.reduce((sum, range) => sum + range.logs.length, 0)
    if (ranges.length > 1) ceiling = Math.max(1, Math.min(...ranges.map((range) => range.to - range.from + 1)))
    else ceiling = Math.min(MAX_RANGE_BLOCKS, Math.ceil(ceiling * CEILING_GROWTH))
    if (logs > 2 * GOOD_ANSWER_LOGS) width = Math.max(1, Math.floor(width / 2))
    else if (logs < GOOD_ANSWER_LOGS) width *= 2
    width = Math.min(width, ceiling)
    yield* ranges
  }
}

/** One range, or its halves where the node finds it too large. */
async function readRange(client: Client, from: number, to: number, options: RangeOptions): Promise<LogRange[]> {
  try {
    // Together, so that they go out as one batch to one endpoint: a node behind its peers answers `[]` past its own head.
    const [logs, last] = await Promise.all([getLogs(client, options.filter, { from, to }), getHeader(client, to)])
    if (!last) throw new Error(`The node has no block ${to} yet, so its logs up to there are not to be trusted.`)
    return [{ from, to, logs, headers: await headersOf(client, logs), last }]
  } catch (error) {
    if (from === to || !isTooLarge(error)) throw error
    options.onSplit?.(from, to, (error as Error).message)
    const middle = Math.floor((from + to) / 2)
    return [...(await readRange(client, from, middle, options)), ...(await readRange(client, middle + 1, to, options))]
  }
}

/** Times come from the logs where the node writes them there, else from headers; never interpolated. */
export async function headersOf(client: Client, logs: readonly RpcLog[]): Promise<BlockHeader[]> {
  const headers = new Map<number, BlockHeader | RpcLog>()
  for (const log of logs) {
    const number = Number(log.blockNumber)
    const known = headers.get(number)
    const hash = known && ('blockHash' in known ? known.blockHash : known.hash)
    if (hash !== undefined && hash !== log.blockHash) {
      throw new Error(`The node answered logs of two blocks ${number}: ${hash} and ${log.blockHash}.`)
    }
    if (log.blockTimestamp !== undefined) {
      headers.set(number, { number, hash: log.blockHash, timestamp: Number(log.blockTimestamp) })
    } else if (!known) headers.set(number, log)
  }
  return Promise.all(
    [...headers.values()].map(async (known) => {
      if (!('blockHash' in known)) return known
      const header = await getHeader(client, Number(known.blockNumber))
      if (header?.hash !== known.blockHash) {
        throw new Error(
          `Block ${Number(known.blockNumber)} is ${header?.hash ?? 'unknown'} by its header and ${known.blockHash} by its logs.`,
        )
      }
      return { number: header.number, hash: header.hash, timestamp: header.timestamp }
    }),
  )
}
