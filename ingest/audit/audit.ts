/** The chain's side of an audit: reads final ranges again from another endpoint, and finds which endpoint omitted logs. */
import type { Client } from 'viem'
import { pause } from '../lib/wait.ts'
import type { IngestFact } from '../model/fact.ts'
import type { BlockHeader } from '../model/message.ts'
import type { NetworkName } from '../model/network.ts'
import type { Report } from '../model/report.ts'
import type { Endpoints } from '../rpc/endpoints.ts'
import { readInPieces, readRange } from '../rpc/log-range.ts'
import { getFinality, getLogs, type LogFilter, type RpcLog } from '../rpc/rpc.ts'
import { BadAnswer } from '../rpc/rpc-error.ts'
import type { ProvenBlock } from './audit-proof.ts'

/** Logs and the headers of the blocks that have them, in order. */
export type RangeLogs = { logs: readonly RpcLog[]; headers: readonly BlockHeader[] }

/** A reading, and which client gave which part. */
export type RangeReading = RangeLogs & { parts: readonly { client: Client; from: number; to: number }[] }

/**
 * The preferred endpoint, most likely the source of the stored rows, and the newest final block, reported at most `finalityMs` ago: an idle
 * audit needs no requests beside those of the listener.
 */
export function firstChoice(endpoints: Endpoints, finalityMs: number): Promise<{ first: Client; finalized: number }> {
  const { finality } = endpoints
  return endpoints.run(async (first) => {
    const known = finality.isRecent(finalityMs) ? finality.below(Number.POSITIVE_INFINITY) : undefined
    return { first, finalized: known?.number ?? (await getFinality(first, finality)).finalized }
  })
}

/** Reads the range from an endpoint of another voice than that of `first`, waiting for it where it rests. Where there is none, from the same. */
export async function readAgain(
  endpoints: Endpoints,
  filter: LogFilter,
  { from, to, first, signal }: { from: number; to: number; first: Client; signal: AbortSignal },
): Promise<RangeReading> {
  const others: Endpoints = {
    ...endpoints,
    async run(task, options) {
      // A resting or probed endpoint becomes usable later: without the wait `first` would confirm itself.
      while (endpoints.waitForOther(first) > 0 && !signal.aborted) await pause(endpoints.waitForOther(first), signal)
      return endpoints.run(task, { ...options, notFirst: first })
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

/** Number of proven blocks of which the reading lacks logs. */
export function countOmitted({ logs: told }: RangeLogs, proven: ReadonlyMap<number, ProvenBlock>): number {
  return [...proven.values()].filter((block) => missingIn(told, block).length > 0).length
}

function missingIn(told: readonly RpcLog[], { header, logs }: ProvenBlock): RpcLog[] {
  const there = new Set(told.filter((log) => log.blockHash === header.hash).map((log) => Number(log.logIndex)))
  return logs.filter((log) => !there.has(Number(log.logIndex)))
}

export type Omission = {
  network: NetworkName
  filter: LogFilter
  first: Client
  reading: RangeReading
  proven: ReadonlyMap<number, ProvenBlock>
  report: Report<IngestFact>
}

/** Reports an endpoint that omits proven logs, and penalizes it. */
export async function reportOmission(
  endpoints: Endpoints,
  { network, filter, first, reading, proven, report }: Omission,
): Promise<void> {
  const omitted = new Map<Client, number>()
  for (const [number, block] of proven) {
    const teller = reading.parts.find(({ from, to }) => from <= number && number <= to)?.client
    const answers = new Map([[teller, reading.logs]])
    // The answer at the time of storing is unknown: the current one is checked.
    if (!answers.has(first)) {
      answers.set(first, await getLogs(first, filter, { blockHash: block.header.hash }).catch(() => block.logs))
    }
    for (const [client, told] of answers) {
      const missing = missingIn(told, block).length
      if (client && missing > 0) omitted.set(client, (omitted.get(client) ?? 0) + missing)
    }
  }
  for (const [client, logs] of omitted) {
    report({ kind: 'endpoint-omitted-logs', network, endpoint: client.name, logs })
    endpoints.penalize(client, new BadAnswer('contradictory', `It left out ${logs} logs that the receipts have.`))
  }
}
