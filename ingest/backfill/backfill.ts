/** A backfill: reads final history by ranges and appends it as overwrites, independent of the listener. */

import { createAssembler } from '../blocks/assemble.ts'
import { BlockedReading } from '../blocks/blocked-reading.ts'
import type { RangesOptions } from '../blocks/range-scheduler.ts'
import { bootstrapPrices } from '../blocks/reference-price.ts'
import { blocksOver } from '../columns/tick-columns.ts'
import { backOff } from '../lib/wait.ts'
import type { BlockRange } from '../model/block-range.ts'
import { BlocksNotFinal, HistoryTooOld, isFinal } from '../model/errors.ts'
import type { IngestFact } from '../model/fact.ts'
import type { BlockRef, RangeOverwrite, UnixSeconds } from '../model/message.ts'
import type { Network } from '../model/network.ts'
import type { PoolId } from '../model/pool.ts'
import type { Report } from '../model/report.ts'
import type { StoredPools } from '../model/stored-pools.ts'
import type { StoredTokens } from '../model/stored-tokens.ts'
import type { TickLog } from '../model/tick-log.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import { pinToBlock } from '../rpc/endpoints/pin-to-block.ts'
import type { RequestBudget } from '../rpc/endpoints/request-budget.ts'
import { getFinality, getHeader } from '../rpc/rpc.ts'
import { isPruned } from '../rpc/rpc-error.ts'
import { type Estimate, estimate, requestsOf, type Sample } from './estimate.ts'
import { type HistorySource, rpcSource } from './history-source.ts'

export type BackfillOptions = {
  network: Network
  job: number
  /** Endpoints where absent. */
  source?: HistorySource | undefined
  /** Ranges to read, both ends included, in order; a resumed job leaves out its completed ranges. */
  ranges: readonly { from: number; to: number }[]
  /** Pools to read; all where absent. */
  pools: readonly PoolId[] | undefined
  /** Without stored pools, a swap of a pool that the chain no longer describes would be deleted. */
  storedPools?: StoredPools
  storedTokens?: StoredTokens
  /** Ranges in flight. */
  concurrency: number
  /** Earliest time of ticks that are kept. */
  notBefore?: UnixSeconds
  /** No range begins that would exceed `max`; `sent` returns the requests so far. The first range always begins. */
  requests?: { max: number; sent(): number } | undefined
  /** Bounds the estimate. */
  budget?: RequestBudget | undefined
  /** Called before the first range is read. */
  onEstimate?: (estimate: Estimate) => Promise<void>
  log: TickLog<RangeOverwrite>
  report: Report<IngestFact>
  signal: AbortSignal
}

/**
 * Resolves once everything is appended, to the first block that is not read where `requests.max` ended it. May be repeated: an overwrite
 * counts once.
 */
export async function backfill(endpoints: Endpoints, options: BackfillOptions): Promise<number | undefined> {
  const { network, source = rpcSource, ranges, notBefore = 0 } = options
  const last = ranges.at(-1)?.to
  if (last === undefined) return undefined
  const { finalized, final } = await endpoints.run((client) => getFinality(client, endpoints.finality))
  if (!final || last > finalized) throw new BlocksNotFinal(network.name, last, finalized)
  const onChain = pinToBlock(endpoints, final)
  const from = ranges[0]?.from ?? 0
  // The ranges say it where no endpoint has this block any more.
  const first = await endpoints.run((client) => getHeader(client, from), { oldest: from }).catch(unlessPruned)
  if (first && first.timestamp < notBefore) throw new HistoryTooOld(network.name, from, first.timestamp, notBefore)
  const { filter } = createAssembler(onChain, network, options.pools && new Set(options.pools), options.report)
  // The backfill itself retries for longer than the sample, which it can do without.
  const sample = await source.sample?.(onChain, filter, ranges).catch(() => undefined)
  if (sample) await options.onEstimate?.(estimate(sample, ranges, options.concurrency, options.budget))
  const mayStart = requestLimit(options, sample)
  for (const range of ranges) {
    const rest = await retryRange(range, options, (rest) =>
      readForOverwrite(onChain, rest, { ...options, final, mayStart }),
    )
    if (rest !== undefined) return rest
  }
  return undefined
}

function unlessPruned(error: unknown): undefined {
  if (!isPruned(error)) throw error
}

/** Counts each range when it begins: several are in flight, and their requests are not sent yet. */
function requestLimit({ requests }: BackfillOptions, sample: Sample | undefined): (blocks: number) => boolean {
  if (!requests) return () => true
  let planned = requests.sent()
  let isFirst = true
  return (blocks) => {
    const after = Math.max(planned, requests.sent()) + requestsOf(blocks, sample?.headersPerBlock)
    if (after > requests.max && !isFirst) return false
    isFirst = false
    planned = after
    return true
  }
}

/** Resumes after a failure, until several attempts in a row make no progress. Resolves to the first block that is not read, if any. */
async function retryRange(
  range: BlockRange,
  { network, report, signal }: BackfillOptions,
  task: (rest: BlockRange) => AsyncGenerator<number>,
): Promise<number | undefined> {
  let { from } = range
  const blocked = new BlockedReading(network.name, report)
  const failed = (error: unknown, retryMs: number, failures: number) => {
    if (isFinal(error) || failures > MAX_FAILURES) throw error
    blocked.failed(error, from)
    report({ kind: 'backfill-waiting', network: network.name, from, error, retryMs })
  }
  for (let failures = 0; from <= range.to; ) {
    try {
      for await (const done of task({ from, to: range.to })) {
        from = done + 1
        failures = 0
      }
      return from <= range.to ? from : undefined
    } catch (error) {
      await backOff(error, ++failures, { firstMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS, signal, failed })
      signal.throwIfAborted()
    }
  }
  return undefined
}

const FIRST_RETRY_MS = 500
const MAX_RETRY_MS = 20_000
const MAX_FAILURES = 10
/** More ticks in one insert cost ClickHouse less; each takes some 250 bytes of memory while it waits. */
const MAX_WAITING = { appends: 64, ticks: 100_000 }

/** Appends under way, oldest first: ranges that wait together are stored as one, while the next ones are read. */
class WaitingAppends {
  readonly #appends: { to: number; appended: Promise<void>; ticks: number }[] = []
  #ticks = 0

  get isFull(): boolean {
    return this.#appends.length > MAX_WAITING.appends || this.#ticks > MAX_WAITING.ticks
  }

  get isEmpty(): boolean {
    return this.#appends.length === 0
  }

  push(to: number, appended: Promise<void>, ticks: number): void {
    // The failure is thrown at its turn; until then it must not count as an unhandled rejection.
    appended.catch(() => undefined)
    this.#appends.push({ to, appended, ticks })
    this.#ticks += ticks
  }

  /** The last block of the oldest one, once that is in the log. */
  async next(): Promise<number> {
    const oldest = this.#appends.shift()
    if (!oldest) throw new Error('No append is under way.')
    await oldest.appended
    this.#ticks -= oldest.ticks
    return oldest.to
  }
}

/** `final`: the newest final block. */
type OverwriteReading = BackfillOptions & Pick<RangesOptions, 'mayStart'> & { final: BlockRef }

/** Yields the last block of each range once it is in the log. */
async function* readForOverwrite(
  endpoints: Endpoints,
  range: BlockRange,
  options: OverwriteReading,
): AsyncGenerator<number> {
  const waiting = new WaitingAppends()
  let failure: { error: unknown } | undefined
  try {
    yield* appendRanges(endpoints, range, options, waiting)
  } catch (error) {
    options.signal.throwIfAborted()
    failure = { error }
  }
  // What was read before a failure stays.
  while (!waiting.isEmpty) yield await waiting.next()
  if (failure) throw failure.error
}

async function* appendRanges(
  endpoints: Endpoints,
  { from, to }: BlockRange,
  options: OverwriteReading,
  waiting: WaitingAppends,
): AsyncGenerator<number> {
  const { network, job, source = rpcSource, pools, storedPools, storedTokens } = options
  const { concurrency, mayStart, log, report, signal } = options
  const assembler = createAssembler(endpoints, network, pools && new Set(pools), report, storedPools, storedTokens)
  await bootstrapPrices(endpoints, network, assembler.usd, from)
  await assembler.meetHooks(options.final)
  const first = await endpoints.run((client) => getHeader(client, from), { oldest: from })
  let firstTimestamp = first?.timestamp ?? 0
  const stream = source.read(endpoints, {
    filter: assembler.filter,
    from,
    to,
    signal,
    inFlight: concurrency,
    ...(mayStart && { mayStart }),
    onSplit: (low, high, reason) => report({ kind: 'range-split', network: network.name, from: low, to: high, reason }),
  })
  for await (const { last, ...range } of stream) {
    const { timestamp, hash } = last
    const { blocks, ticks: columns } = await assembler.assembleColumns(range.logs, range.headers)
    assembler.usd.finalize(range.to)
    const where = { from: range.from, to: range.to, firstTimestamp, timestamp, hash }
    const content = { blocks: blocksOver(blocks, columns), columns }
    const message: RangeOverwrite = { kind: 'restatement', network: network.name, job, pools, ...where, ...content }
    waiting.push(range.to, log.append([message]), columns.length)
    // Times are covered without a gap: the next range begins where this one ends.
    firstTimestamp = timestamp
    while (waiting.isFull) yield await waiting.next()
  }
}
