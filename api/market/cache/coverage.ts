/** Which time is stored completely: the ledger, and the runs of blocks that backfills have read. Trades of the gaps between them may be missing. */

import type { ClickHouseClient } from '@clickhouse/client'
import { gapsBetween, joined } from '../../../aggregator/history/known-ranges.ts'
import type { KnownRange } from '../../../aggregator/history/ledger-runs.ts'
import { isDigest, poolsIn, poolsOfFilters } from '../../../aggregator/history/pool-filter.ts'
import { type LedgerStart, ledgerStart, readBlocks } from '../../../aggregator/ledger/stored-blocks.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { Pool, PoolId } from '../../../ingest/model/pool.ts'
import { cachedValue } from '../../lib/cached-value.ts'
import { orUnavailable, queryRows, readSql } from '../../lib/store.ts'
import type { TimeRange } from '../../query/time-range.ts'
import type { Listing } from '../model/listing.ts'
import { isFresh, type Tip } from '../model/tip.ts'

const COVERAGE = readSql(new URL('./coverage.sql', import.meta.url))
const UNPROVEN = readSql(new URL('./unproven.sql', import.meta.url))

export type Coverage = {
  /** Undefined while nothing is stored. */
  ledger: LedgerStart | undefined
  /** Runs of blocks that backfills have read, each for the pools of a filter: ids joined by commas, or all where it is empty. */
  backfilled: readonly CoveredRun[]
  /** The newest stored block that was final when the states were read; its trades and all before it are final. */
  final?: { finalized: number; timestamp: UnixSeconds } | undefined
  /** The time of blocks whose logs differ between endpoints, none of them proven; ascending. */
  unproven?: readonly TimeRange[]
}

/** `pools`: the members of a filter that is a digest. */
type CoveredRun = KnownRange & { filter: string; pools?: ReadonlySet<PoolId> }

/** The tip of a network's ledger, and which blocks are stored completely. */
export type NetworkState = { tip: Tip | undefined; coverage: Coverage }

/** The same for one pool: its backfilled runs and its gaps up to the tip, both ascending. */
export type PoolCoverage = {
  tip: Tip | undefined
  backfilled: readonly KnownRange[]
  gaps: readonly TimeRange[]
  /** No reorg changes rows before it. */
  finalUntil: UnixSeconds | undefined
  /** See `Coverage`: of any pool of the network. */
  unproven: readonly TimeRange[]
}

const NOTHING_STORED: NetworkState = { tip: undefined, coverage: { ledger: undefined, backfilled: [] } }

export function poolCoverage(
  states: ReadonlyMap<NetworkName, NetworkState>,
  { network, pool, created }: Pick<Listing, 'network' | 'created'> & { pool: Pick<Pool, 'id'> },
): PoolCoverage {
  const { tip, coverage } = states.get(network.name) ?? NOTHING_STORED
  return {
    tip,
    backfilled: coveredRuns(coverage, pool),
    gaps: gapsOf(coverage, tip, pool, created),
    finalUntil: coverage.final?.timestamp,
    unproven: coverage.unproven ?? [],
  }
}

/** Multiple of their age: an audit finds unproven blocks minutes after they were stored. */
const UNPROVEN_AGE = 20

/** At most `ageMs` old. `states`: the last ones, see `readCoverages`. */
export function openCoverages(
  reader: ClickHouseClient,
  networks: readonly NetworkName[],
  states: ReadonlyMap<NetworkName, NetworkState>,
  ageMs: number,
) {
  const unproven = cachedValue(() => readUnproven(reader, networks), UNPROVEN_AGE * ageMs)
  return cachedValue(async () => {
    const [coverages, times] = await Promise.all([readCoverages(reader, networks, states), unproven.get()])
    return new Map([...coverages].map(([network, it]) => [network, { ...it, unproven: times.get(network) ?? [] }]))
  }, ageMs)
}

/** `before`: the last states, whose ledger starts and digests are immutable and are not read again. */
export async function readCoverages(
  reader: ClickHouseClient,
  networks: readonly NetworkName[],
  before: ReadonlyMap<NetworkName, { tip?: Tip | undefined; coverage: Coverage }> = new Map(),
): Promise<ReadonlyMap<NetworkName, Coverage>> {
  const [runs, ledgers, finals] = await Promise.all([
    queryRows<CoveredRun & { network: string }>(reader, COVERAGE, { networks }),
    Promise.all(
      networks.map(
        (network) => before.get(network)?.coverage.ledger ?? orUnavailable(() => ledgerStart(reader, network)),
      ),
    ),
    Promise.all(networks.map((network) => readFinal(reader, network, before.get(network)))),
  ])
  const found = new Map<NetworkName, Coverage>()
  for (const [index, network] of networks.entries()) {
    const known = before.get(network)?.coverage.backfilled ?? []
    const ofNetwork = runs.filter((run) => run.network === network)
    const backfilled = await withPools(reader, network, ofNetwork, known)
    found.set(network, { ledger: ledgers[index], backfilled, final: finals[index] })
  }
  return found
}

async function readUnproven(
  reader: ClickHouseClient,
  networks: readonly NetworkName[],
): Promise<ReadonlyMap<NetworkName, readonly TimeRange[]>> {
  const rows = await queryRows<{ network: NetworkName; times: readonly UnixSeconds[] }>(reader, UNPROVEN, { networks })
  return new Map(
    rows.map(({ network, times }) => {
      // Not known of blocks that an earlier version has found.
      const known = times.filter((time) => time > 0)
      return [network, known.map((time) => ({ from: time, to: time + 1 }))]
    }),
  )
}

/** Read again where the tip names a newer final block. */
async function readFinal(
  reader: ClickHouseClient,
  network: NetworkName,
  before: { tip?: Tip | undefined; coverage: Coverage } | undefined,
): Promise<Coverage['final']> {
  const finalized = before?.tip?.finalized ?? 0
  const known = before?.coverage.final
  if (finalized === 0 || known?.finalized === finalized) return finalized === 0 ? undefined : known
  const [block] = await orUnavailable(() => readBlocks(reader, network, finalized + 1, 1))
  return block && { finalized, timestamp: block.timestamp }
}

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

function coveredRuns({ backfilled }: Coverage, pool: Pick<Pool, 'id'>): KnownRange[] {
  return joined(backfilled.filter((run) => covers(run, pool.id)))
}

/** Ascending: the time up to the tip in which trades of the pool may be missing. `created`: the pool's first block, where it is stored. */
export function gapsOf(
  coverage: Coverage,
  tip: Tip | undefined,
  pool: Pick<Pool, 'id'>,
  created: number | undefined,
): TimeRange[] {
  const { ledger } = coverage
  const runs = joined([...coveredRuns(coverage, pool), ...(ledger && tip ? [runOf(ledger, tip)] : [])])
  const [first] = runs
  if (first === undefined) return [{ from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }]
  const since = created === undefined ? -1 : runs.findIndex(({ from, to }) => from <= created && created <= to)
  const gaps = gapsBetween(runs).map(({ fromTime, toTime }) => ({ from: fromTime + 1, to: toTime }))
  const all = [{ from: Number.NEGATIVE_INFINITY, to: first.fromTime }, ...gaps]
  // A pool has no trades before its creation.
  return all.slice(since + 1).filter(({ from, to }) => from < to)
}

function runOf({ first, time }: LedgerStart, tip: Tip): KnownRange {
  return { from: first, to: tip.number, fromTime: time, toTime: tip.timestamp }
}

/** The end of the complete time after a trade within `from ≤ time < to`: up to there the pool has not traded again. */
export function completeUntil(gaps: readonly TimeRange[], { from, to }: TimeRange): UnixSeconds {
  // A gap that begins before the bucket and ends inside of it lies before the trade.
  const next = gaps.find((gap) => gap.to > from && !(gap.from <= from && gap.to < to))
  return next?.from ?? Number.POSITIVE_INFINITY
}

/** The time since the tip, or since the newest backfilled block, where the ledger is behind the clock by more than a minute. */
export function gapSinceTip(
  { tip, backfilled }: Pick<PoolCoverage, 'tip' | 'backfilled'>,
  now: UnixSeconds,
): TimeRange[] {
  if (tip && isFresh(tip, now)) return []
  const reached = lastCovered({ tip, backfilled })
  return reached < 0 ? [] : [{ from: reached + 1, to: Number.POSITIVE_INFINITY }]
}

/** The newest second that the ledger or a backfill covers; -1 where none does. */
export function lastCovered({ tip, backfilled }: Pick<PoolCoverage, 'tip' | 'backfilled'>): UnixSeconds {
  return Math.max(tip?.timestamp ?? -1, backfilled.at(-1)?.toTime ?? -1)
}

/** Names the newest stored blocks: another text once there are others. */
export function newestStored({ tip, backfilled }: Pick<PoolCoverage, 'tip' | 'backfilled'>): string {
  return `${tip?.hash} ${backfilled.at(-1)?.to}`
}

/** True where no new block changes the range: the ledger is past its end, or one backfilled run holds all of it. */
export function isComplete({ from, to }: TimeRange, { tip, backfilled }: PoolCoverage): boolean {
  if (tip && to <= tip.timestamp) return true
  return backfilled.some(({ fromTime, toTime }) => fromTime <= from && to <= toTime)
}

/** The parts of ascending ranges that lie within another one. */
export function clip(ranges: readonly TimeRange[], within: TimeRange): TimeRange[] {
  return ranges
    .map(({ from, to }) => ({ from: Math.max(from, within.from), to: Math.min(to, within.to) }))
    .filter(({ from, to }) => from < to)
}
