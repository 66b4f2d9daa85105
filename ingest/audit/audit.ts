/** The chain's side of an audit: reads final ranges again from each voice, and finds which endpoint omitted or altered logs. */
import type { Client } from 'viem'
import { pause } from '../lib/wait.ts'
import type { IngestFact } from '../model/fact.ts'
import type { BlockHeader } from '../model/message.ts'
import type { NetworkName } from '../model/network.ts'
import type { Report } from '../model/report.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import { readInPieces, readRange } from '../rpc/logs/log-range.ts'
import { getFinality, type LogFilter, type RpcLog } from '../rpc/rpc.ts'
import { BadAnswer, RpcFailed } from '../rpc/rpc-error.ts'
import type { ProvenBlock } from './audit-proof.ts'

/** Logs and the headers of the blocks that have them, in order. */
export type RangeLogs = { logs: readonly RpcLog[]; headers: readonly BlockHeader[] }

/** A reading, and which client gave which part. */
export type RangeReading = RangeLogs & { parts: readonly { client: Client; from: number; to: number }[] }

/**
 * The preferred endpoint, most likely the source of the stored rows, and the newest final block. A report at most `finalityMs` old suffices,
 * so that an idle audit sends no requests of its own beside the listener.
 */
export function firstChoice(endpoints: Endpoints, finalityMs: number): Promise<{ first: Client; finalized: number }> {
  const { finality } = endpoints
  return endpoints.run(async (first) => {
    const known = finality.isRecent(finalityMs) ? finality.below(Number.POSITIVE_INFINITY) : undefined
    return { first, finalized: known?.number ?? (await getFinality(first, finality)).finalized }
  })
}

/** More voices than these are not compared: each reads the whole range. */
const MAX_READINGS = 5

/**
 * Reads the range from each voice: one honest voice suffices to find logs that the others omit. Waits for the first two even while they rest,
 * because at least one of two is not the source of the stored rows. With one voice, or one that has the history, the range is read once:
 * the reading shows stored rows that this voice lacks now, and there is no second answer to compare.
 */
export async function readFromEach(
  endpoints: Endpoints,
  filter: LogFilter,
  range: RangeToRead,
): Promise<[RangeReading, ...RangeReading[]]> {
  const one = await readUnlessPruned(endpoints, filter, range, [range.first])
  const client = one?.parts[0]?.client
  if (!one || !client) return [await readFrom(endpoints, filter, range, [])]
  const readings: [RangeReading, ...RangeReading[]] = [one]
  const clients = [client]
  while (clients.length < Math.min(endpoints.voices(), MAX_READINGS)) {
    if (clients.length > 1 && endpoints.waitForOther(...clients) > 0) break
    const other = await readUnlessPruned(endpoints, filter, range, clients)
    const next = other?.parts[0]?.client
    if (!other || !next) break
    readings.push(other)
    clients.push(next)
  }
  return readings
}

/** Not from these voices; undefined where no other one has the history, or where a third or later one fails. */
async function readUnlessPruned(
  endpoints: Endpoints,
  filter: LogFilter,
  range: RangeToRead,
  notAt: readonly Client[],
): Promise<RangeReading | undefined> {
  if (endpoints.voices() < 2) return undefined
  try {
    return await readFrom(endpoints, filter, range, notAt)
  } catch (error) {
    const isSpare = notAt.length > 1
    if (error instanceof RpcFailed && (isSpare || error.problem.kind === 'pruned')) return undefined
    throw error
  }
}

type RangeToRead = { from: number; to: number; first: Client; signal: AbortSignal }

async function readFrom(
  endpoints: Endpoints,
  filter: LogFilter,
  { from, to, signal }: RangeToRead,
  notAt: readonly Client[],
): Promise<RangeReading> {
  const others: Endpoints = {
    ...endpoints,
    async run(task, options) {
      // A resting or probed endpoint becomes usable later.
      while (notAt.length > 0 && endpoints.waitForOther(...notAt) > 0 && !signal.aborted)
        await pause(endpoints.waitForOther(...notAt), signal)
      return endpoints.run(task, { ...options, notAt })
    },
  }
  const read = async (client: Client, low: number, high: number) => ({
    client,
    range: await readRange(client, filter, low, high),
  })
  const { pieces } = await readInPieces(others, from, to, read)
  return {
    logs: pieces.flatMap(({ range }) => range.logs),
    headers: pieces.flatMap(({ range }) => range.headers),
    parts: pieces.map(({ client, range }) => ({ client, from: range.from, to: range.to })),
  }
}

/** `reading` with the proven blocks in place of its own. */
export function withProven({ logs, headers }: RangeLogs, proven: ReadonlyMap<number, ProvenBlock>): RangeLogs {
  const isTaken = (number: number) => !proven.has(number)
  const blocks = [...proven.values()]
  return {
    logs: [...logs.filter((log) => isTaken(Number(log.blockNumber))), ...blocks.flatMap((block) => block.logs)].sort(
      (a, b) => Number(a.blockNumber) - Number(b.blockNumber) || Number(a.logIndex) - Number(b.logIndex),
    ),
    headers: [...headers.filter(({ number }) => isTaken(number)), ...blocks.map(({ header }) => header)].sort(
      (a, b) => a.number - b.number,
    ),
  }
}

/** Number of proven blocks whose logs differ from the reading's. */
export function countFalse({ logs }: RangeLogs, proven: ReadonlyMap<number, ProvenBlock>): number {
  const falsehoods = [...proven.values()].map((block) => falsehoodIn(logs, block))
  return falsehoods.filter(({ omitted, altered }) => omitted + altered > 0).length
}

type Falsehood = { omitted: number; altered: number }

/** Counts the proven logs that an answer omits and the ones that it altered; logs that are not in the block count as altered. */
function falsehoodIn(answered: readonly RpcLog[], { header, logs }: ProvenBlock): Falsehood {
  const there = new Map(
    answered.filter((log) => log.blockHash === header.hash).map((log) => [Number(log.logIndex), contentOf(log)]),
  )
  const places = new Set(logs.map((log) => Number(log.logIndex)))
  const omitted = logs.filter((log) => !there.has(Number(log.logIndex)))
  const otherwise = logs.filter((log) => (there.get(Number(log.logIndex)) ?? contentOf(log)) !== contentOf(log))
  const invented = [...there.keys()].filter((place) => !places.has(place))
  return { omitted: omitted.length, altered: otherwise.length + invented.length }
}

function contentOf({ address, topics, data }: RpcLog): string {
  return [address, ...topics, data].join().toLowerCase()
}

export type FalseReading = {
  network: NetworkName
  /** All have the same range. */
  readings: readonly RangeReading[]
  proven: ReadonlyMap<number, ProvenBlock>
  report: Report<IngestFact>
}

/** Reports endpoints whose answers differ from the proven ones, and penalizes them. */
export function reportFalseAnswers(endpoints: Endpoints, { network, readings, proven, report }: FalseReading): void {
  const found = new Map<Client, Falsehood>()
  for (const [number, block] of proven) {
    for (const { parts, logs } of readings) {
      const source = parts.find(({ from, to }) => from <= number && number <= to)?.client
      if (!source) continue
      const { omitted, altered } = falsehoodIn(logs, block)
      const before = found.get(source) ?? { omitted: 0, altered: 0 }
      found.set(source, { omitted: before.omitted + omitted, altered: before.altered + altered })
    }
  }
  for (const [client, { omitted, altered }] of found) {
    const endpoint = client.name
    if (omitted > 0) report({ kind: 'endpoint-omitted-logs', network, endpoint, logs: omitted })
    if (altered > 0) report({ kind: 'endpoint-altered-logs', network, endpoint, logs: altered })
    if (omitted + altered === 0) continue
    const text = `Of logs that are proven, it left out ${omitted} and had ${altered} otherwise.`
    endpoints.penalize(client, new BadAnswer('contradictory', text))
  }
}
