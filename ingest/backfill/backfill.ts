/** A backfill: reads final history by ranges and appends it as overwrites, independent of the listener. */

import { createAssembler } from '../blocks/assemble.ts'
import { readRanges } from '../blocks/range-scheduler.ts'
import { bootstrapPrices } from '../blocks/reference-price.ts'
import { backOff } from '../lib/wait.ts'
import type { BlockRange } from '../model/block-range.ts'
import { BlocksNotFinal, HistoryTooOld, isFinal } from '../model/errors.ts'
import type { IngestFact } from '../model/fact.ts'
import type { RangeOverwrite, UnixSeconds } from '../model/message.ts'
import type { Network } from '../model/network.ts'
import type { PoolId } from '../model/pool.ts'
import type { Report } from '../model/report.ts'
import type { StoredPools } from '../model/stored-pools.ts'
import type { TickLog } from '../model/tick-log.ts'
import type { Endpoints } from '../rpc/endpoints.ts'
import { pinToBlock } from '../rpc/pin-to-block.ts'
import { getFinality, getHeader } from '../rpc/rpc.ts'

export type BackfillOptions = {
  network: Network
  job: number
  /** Ranges to read, both ends included, in order; a resumed job leaves out its completed ranges. */
  ranges: readonly { from: number; to: number }[]
  /** Pools to read; all where absent. */
  pools: readonly PoolId[] | undefined
  /** Without stored pools, a swap of a pool that the chain no longer describes would be deleted. */
  storedPools?: StoredPools
  /** Ranges in flight. */
  concurrency: number
  /** Earliest time of ticks that are kept. */
  notBefore?: UnixSeconds
  log: TickLog<RangeOverwrite>
  report: Report<IngestFact>
  signal: AbortSignal
}

/** Resolves once everything is appended. May be repeated: an overwrite counts once. */
export async function backfill(endpoints: Endpoints, options: BackfillOptions): Promise<void> {
  const { network, ranges, notBefore = 0 } = options
  const last = ranges.at(-1)?.to
  if (last === undefined) return
  const { finalized, final } = await endpoints.run((client) => getFinality(client, endpoints.finality))
  if (!final || last > finalized) throw new BlocksNotFinal(network.name, last, finalized)
  const onChain = pinToBlock(endpoints, final)
  const from = ranges[0]?.from ?? 0
  const first = await endpoints.run((client) => getHeader(client, from))
  if (first && first.timestamp < notBefore) throw new HistoryTooOld(network.name, from, first.timestamp, notBefore)
  for (const range of ranges) await retryRange(range, options, (rest) => restateRange(onChain, rest, options))
}

/** Resumes after a failure, until several attempts in a row make no progress. */
async function retryRange(
  range: BlockRange,
  { network, report, signal }: BackfillOptions,
  task: (rest: BlockRange) => AsyncGenerator<number>,
): Promise<void> {
  let { from } = range
  const failed = (error: unknown, retryMs: number, failures: number) => {
    if (isFinal(error) || failures > MAX_FAILURES) throw error
    report({ kind: 'backfill-waiting', network: network.name, from, error, retryMs })
  }
  for (let failures = 0; from <= range.to; ) {
    try {
      for await (const done of task({ from, to: range.to })) {
        from = done + 1
        failures = 0
      }
    } catch (error) {
      await backOff(error, ++failures, { firstMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS, signal, failed })
      signal.throwIfAborted()
    }
  }
}

const FIRST_RETRY_MS = 500
const MAX_RETRY_MS = 20_000
const MAX_FAILURES = 10
const APPENDS_AT_ONCE = 4

/** Yields the last block of each range once it is in the log. */
async function* restateRange(
  endpoints: Endpoints,
  { from, to }: BlockRange,
  { network, job, pools, storedPools, concurrency, log, report, signal }: BackfillOptions,
): AsyncGenerator<number> {
  const assembler = createAssembler(endpoints, network, pools && new Set(pools), report, storedPools)
  await bootstrapPrices(endpoints, network, assembler.usd, from)
  const first = await endpoints.run((client) => getHeader(client, from))
  let firstTimestamp = first?.timestamp ?? 0
  /** Appends under way, oldest first, with the last block of each. */
  const waiting: Promise<number>[] = []
  const stream = readRanges(endpoints, {
    filter: assembler.filter,
    from,
    to,
    signal,
    inFlight: concurrency,
    onSplit: (low, high, reason) => report({ kind: 'range-split', network: network.name, from: low, to: high, reason }),
  })
  for await (const { last, ...range } of stream) {
    const { timestamp, hash } = last
    const blocks = await assembler.assemble(range.logs, range.headers)
    assembler.usd.finalize(range.to)
    const where = { from: range.from, to: range.to, firstTimestamp, timestamp, hash }
    const message: RangeOverwrite = { kind: 'restatement', network: network.name, job, pools, ...where, blocks }
    const appended = log.append([message]).then(() => range.to)
    // The failure is thrown at its turn; until then it must not count as an unhandled rejection.
    appended.catch(() => undefined)
    waiting.push(appended)
    // Times are covered without a gap: the next range begins where this one ends.
    firstTimestamp = timestamp
    // The next ranges are read while these are stored; ranges that wait together are stored as one.
    if (waiting.length > APPENDS_AT_ONCE) yield (await waiting.shift()) ?? from
  }
  for (const to of waiting) yield await to
}
