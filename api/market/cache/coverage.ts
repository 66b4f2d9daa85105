/** Which time is known whole: the ledger and what jobs have read. Between lies what nobody has asked the chain for. */
import type { ClickHouseClient } from '@clickhouse/client'
import { gapsBetween, joined, type KnownRange } from '../../../aggregator/history/known-ranges.ts'
import { isDigest, poolsIn, poolsOfFilters } from '../../../aggregator/history/pool-filter.ts'
import { type LedgerStart, ledgerStart } from '../../../aggregator/ledger/stored-blocks.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { Pool, PoolId } from '../../../ingest/model/pool.ts'
import { orUnavailable, queryRows, readSql } from '../../lib/store.ts'
import type { TimeRange } from '../../query/time-range.ts'
import { isFresh, type Tip } from '../model/tip.ts'

const COVERAGE = readSql(new URL('./coverage.sql', import.meta.url))

export type Coverage = {
  /** Undefined while nothing is stored. */
  ledger: LedgerStart | undefined
  /** What jobs have read, for the pools of a filter: ids joined by commas, or all where it is empty. */
  backfilled: readonly CoveredRun[]
}

/** `pools`: those of a filter that is a digest. */
type CoveredRun = KnownRange & { filter: string; pools?: ReadonlySet<PoolId> }

/** A ledger's start stays where it is, so that one that is `known` is not looked for again. */
export async function readCoverages(
  reader: ClickHouseClient,
  networks: readonly NetworkName[],
  known: ReadonlyMap<NetworkName, { coverage: Coverage }> = new Map(),
): Promise<ReadonlyMap<NetworkName, Coverage>> {
  const [coverage, ledgers] = await Promise.all([
    queryRows<CoveredRun & { network: string }>(reader, COVERAGE, { networks }),
    Promise.all(
      networks.map(
        (network) => known.get(network)?.coverage.ledger ?? orUnavailable(() => ledgerStart(reader, network)),
      ),
    ),
  ])
  const found = new Map<NetworkName, Coverage>()
  for (const [index, network] of networks.entries()) {
    const before = known.get(network)?.coverage.backfilled ?? []
    const runs = coverage.filter((run) => run.network === network)
    found.set(network, { ledger: ledgers[index], backfilled: await withPools(reader, network, runs, before) })
  }
  return found
}

/** What a digest stands for stays as it is: what was read `before` is not read again. */
async function withPools(
  reader: ClickHouseClient,
  network: NetworkName,
  runs: readonly CoveredRun[],
  before: readonly CoveredRun[],
): Promise<readonly CoveredRun[]> {
  const pools = new Map(before.map((run) => [run.filter, run.pools]))
  const unread = runs.map(({ filter }) => filter).filter((filter) => isDigest(filter) && !pools.get(filter))
  for (const [filter, ids] of await orUnavailable(() => poolsOfFilters(reader, network, unread))) {
    pools.set(filter, new Set(ids))
  }
  return runs.map((run) => {
    const ids = pools.get(run.filter)
    return ids ? { ...run, pools: ids } : run
  })
}

function covers({ filter, pools }: CoveredRun, pool: PoolId): boolean {
  return filter === '' || (pools ? pools.has(pool) : poolsIn(filter).includes(pool))
}

/** What jobs have read of a pool: unbroken runs, ascending. It vouches for candles as the tip does. */
export function coveredRuns({ backfilled: coverage }: Coverage, pool: Pool): KnownRange[] {
  return joined(coverage.filter((run) => covers(run, pool.id)))
}

/** Ascending: the time up to the tip in which the pool may have traded without our knowing. `created` is its first block, where it is known. */
export function gapsOf(known: Coverage, tip: Tip | undefined, pool: Pool, created: number | undefined): TimeRange[] {
  const runs = joined([...coveredRuns(known, pool), ...(known.ledger && tip ? [runOf(known.ledger, tip)] : [])])
  const [first] = runs
  if (first === undefined) return [{ from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }]
  const since = created === undefined ? -1 : runs.findIndex(({ from, to }) => from <= created && created <= to)
  const gaps = gapsBetween(runs).map(({ fromTime, toTime }) => ({ from: fromTime + 1, to: toTime }))
  const all = [{ from: Number.NEGATIVE_INFINITY, to: first.fromTime }, ...gaps]
  // Before it was made it had no trades to miss.
  return all.slice(since + 1).filter(({ from, to }) => from < to)
}

function runOf({ first, time }: LedgerStart, tip: Tip): KnownRange {
  return { from: first, to: tip.number, fromTime: time, toTime: tip.timestamp }
}

/** Until when a pool that traded last within `from ≤ time < to` is known not to have traded again. */
export function completeUntil(unknown: readonly TimeRange[], { from, to }: TimeRange): UnixSeconds {
  // What is unknown only at the start of the bucket ended before the trade that is known.
  const next = unknown.find((gap) => gap.to > from && !(gap.from <= from && gap.to < to))
  return next?.from ?? Number.POSITIVE_INFINITY
}

/** The time since the tip, or since the newest block that a job has read, where the ledger does not keep up. */
export function gapSinceTip(tip: Tip | undefined, now: UnixSeconds, covered: readonly KnownRange[] = []): TimeRange[] {
  if (tip && isFresh(tip, now)) return []
  const reached = Math.max(tip?.timestamp ?? -1, covered.at(-1)?.toTime ?? -1)
  return reached < 0 ? [] : [{ from: reached + 1, to: Number.POSITIVE_INFINITY }]
}

/** Whether nothing of a range is left to come: the ledger is past its end, or jobs have read it whole. */
export function isComplete({ from, to }: TimeRange, tip: Tip | undefined, covered: readonly KnownRange[]): boolean {
  if (tip && to <= tip.timestamp) return true
  return covered.some(({ fromTime, toTime }) => fromTime <= from && to <= toTime)
}

/** What of some ascending ranges lies within another. */
export function clip(ranges: readonly TimeRange[], within: TimeRange): TimeRange[] {
  return ranges
    .map(({ from, to }) => ({ from: Math.max(from, within.from), to: Math.min(to, within.to) }))
    .filter(({ from, to }) => from < to)
}
