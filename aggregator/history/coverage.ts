/** Coverage: ranges of final blocks that are stored completely, because a job read them. */
import type { ClickHouseClient } from '@clickhouse/client'
import { columnsOf } from '../../ingest/columns/tick-columns.ts'
import type { BlockRange } from '../../ingest/model/block-range.ts'
import type { BlockRef, RangeOverwrite, UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { Job } from '../jobs/job.ts'
import { ledgerStart, newestBlock } from '../ledger/stored-blocks.ts'
import { digestOfColumns } from '../store/digest.ts'
import { filterGroups } from '../store/pool-groups.ts'
import { ask, insertRows, loadSql, run } from '../store/store.ts'
import type { Version } from '../store/version.ts'
import { filterOf, poolsOfFilters, recordFilter } from './pool-filter.ts'

export async function recordCoverage(
  client: ClickHouseClient,
  overwrites: readonly RangeOverwrite[],
  version: Version,
): Promise<void> {
  for (const [network, pools] of new Map(overwrites.map((one) => [one.network, one.pools])))
    await recordFilter(client, network, pools)
  await insertRows(client, 'coverage', (out) => {
    for (const { network, job, pools, from, to, firstTimestamp, timestamp, blocks, columns } of overwrites) {
      const ticks = columns ?? columnsOf(blocks)
      out.string(network).string(filterOf(pools)).string('backfill').uint64(from).uint64(to)
      out.uint32(firstTimestamp).uint32(timestamp).uint64(ticks.length).uint64(digestOfColumns(ticks))
      out.uint32(job).uint64(version)
    }
  })
}

/** Whether this job, or a later one, has overwritten exactly this range for exactly these pools. */
export async function isOverwritten(client: ClickHouseClient, overwrite: RangeOverwrite): Promise<boolean> {
  const { network, job, pools, from, to } = overwrite
  // A later rewind took its blocks back: it is never written.
  if (isRewound(await readRewinds(client, network), overwrite)) return true
  const rows = await ask(
    client,
    `SELECT 1 FROM coverage
     WHERE network = {network:String} AND filter = {filter:String} AND first = {from:UInt64} AND last = {to:UInt64}
       AND job >= {job:UInt32} LIMIT 1`,
    { network, filter: filterOf(pools), from, to, job },
  )
  return rows.length > 0
}

/** Ranges that jobs have overwritten, as `isOverwritten` counts them, and ranges that a rewind forbids to overwrite. */
export type StoredOverwrites = {
  has(overwrite: RangeOverwrite): boolean
  add(overwrite: RangeOverwrite): void
  /** Ranges of earlier jobs above it are of a branch that is gone. */
  rewound(rewind: Rewind): void
}

/** A job that took back all blocks from `first` on. */
export type Rewind = { job: number; first: number }

function isRewound(rewinds: readonly Rewind[], { job, to }: RangeOverwrite): boolean {
  return rewinds.some((rewind) => job < rewind.job && to >= rewind.first)
}

function readRewinds(client: ClickHouseClient, network: NetworkName): Promise<Rewind[]> {
  return ask<Rewind>(
    client,
    `SELECT id AS job, toFloat64(first) AS first FROM jobs FINAL
     WHERE network = {network:String} AND kind = 'rewind' AND state = 'done'`,
    { network },
  )
}

/**
 * Read once, when the epoch is acquired. Later rows are a stale writer's and do not count: candles that were recomputed meanwhile lack its
 * ticks.
 */
export async function readStoredOverwrites(client: ClickHouseClient, network: NetworkName): Promise<StoredOverwrites> {
  const rows = await ask<BlockRange & { filter: string; job: number }>(
    client,
    `SELECT toFloat64(first) AS "from", toFloat64(last) AS "to", filter, max(job) AS job FROM coverage
     WHERE network = {network:String} GROUP BY first, last, filter`,
    { network },
  )
  const rewinds = await readRewinds(client, network)
  const keyOf = ({ from, to }: BlockRange, filter: string) => `${from} ${to} ${filter}`
  const stated = new Map(rows.map(({ to, job, ...row }) => [keyOf({ ...row, to }, row.filter), { to, job }]))
  return {
    has: (one) => (stated.get(keyOf(one, filterOf(one.pools)))?.job ?? -1) >= one.job || isRewound(rewinds, one),
    add: (one) => stated.set(keyOf(one, filterOf(one.pools)), { to: one.to, job: one.job }),
    rewound(rewind) {
      rewinds.push(rewind)
      for (const [key, { to }] of stated) if (to >= rewind.first) stated.delete(key)
    },
  }
}

const countedTicks = loadSql(import.meta.url, './counted_ticks.sql')

/** Stored ticks of some blocks and their digest (see digest.ts); all pools where `pools` is empty. */
export async function countTicks(
  client: ClickHouseClient,
  { network, from, to, pools }: BlockRange & { network: NetworkName; pools: readonly PoolId[] },
): Promise<{ ticks: string; digest: string }> {
  let [ticks, digest] = [0n, 0n]
  for (const group of filterGroups(pools)) {
    const parameters = { network, from, to, pools: group }
    const [row] = await ask<{ counted_ticks: string; counted_digest: string }>(client, countedTicks, parameters)
    ticks += BigInt(row?.counted_ticks ?? 0)
    digest += BigInt(row?.counted_digest ?? 0)
  }
  return { ticks: `${ticks}`, digest: `${BigInt.asUintN(64, digest)}` }
}

/** Cuts covered ranges at block `to`. May be repeated. */
export async function lowerCoverage(
  client: ClickHouseClient,
  shards: readonly ClickHouseClient[],
  network: NetworkName,
  to: BlockRef & { timestamp: UnixSeconds },
): Promise<void> {
  const rows = await ask<{ from: number; filter: string; source: string }>(
    client,
    `SELECT toFloat64(first) AS "from", filter, source FROM coverage FINAL
     WHERE network = {network:String} AND first <= {to:UInt64} AND last > {to:UInt64}`,
    { network, to: to.number },
  )
  const poolsOf = await poolsOfFilters(
    client,
    network,
    rows.map(({ filter }) => filter),
  )
  for (const { from, filter, source } of rows) {
    const counted = await countTicks(client, { network, from, to: to.number, pools: poolsOf.get(filter) ?? [] })
    await run(
      client,
      `INSERT INTO coverage (network, filter, source, first, last, first_time, last_time, ticks, digest, job, version)
       SELECT network, filter, source, first, {to:UInt64}, first_time, toDateTime({time:UInt32}, 'UTC'), {ticks:UInt64}, {digest:UInt64}, job, version
       FROM coverage FINAL
       WHERE network = {network:String} AND filter = {filter:String} AND source = {source:String}
         AND first = {from:UInt64} AND last > {to:UInt64}
       ORDER BY version DESC LIMIT 1`,
      {
        ...{ network, filter, source, from, to: to.number, time: to.timestamp },
        ...counted,
      },
    )
  }
  for (const shard of shards) {
    await run(shard, 'DELETE FROM coverage WHERE network = {network:String} AND last > {to:UInt64}', {
      network,
      to: to.number,
    })
  }
}

/** Ranges that jobs have read for these pools, or for all of them; `since`: only this job and later ones. */
export async function readCoverage(
  client: ClickHouseClient,
  network: NetworkName,
  pools: readonly PoolId[] | undefined,
  since = 0,
): Promise<BlockRange[]> {
  return ask<BlockRange>(
    client,
    `SELECT toFloat64(first) AS "from", toFloat64(last) AS "to" FROM coverage FINAL
     WHERE network = {network:String} AND filter IN ('', {filter:String}) AND coverage.job >= {since:UInt32}`,
    { network, filter: filterOf(pools), since },
  )
}

/**
 * Parts of the job's range that it has to read: parts that no job has read. A job that reads `again` skips only parts that it or a later job
 * has read. Earlier coverage stays meanwhile: its ticks are stored until the new ones replace them.
 */
export async function unreadRanges(
  client: ClickHouseClient,
  { network, id, from, to, pools, again }: Pick<Job, 'network' | 'id' | 'from' | 'to' | 'pools' | 'again'>,
): Promise<BlockRange[]> {
  return gapsIn({ from, to }, await readCoverage(client, network, pools, again ? id : 0))
}

/** An unbroken run of blocks that are stored completely for some pools, by the listener or by one backfill. */
export type StoredRange = BlockRange & {
  network: NetworkName
  /** The backfill; 0 where it was the listener. */
  job: number
  /** All pools where absent. */
  pools: readonly PoolId[] | undefined
}

/** Stored ranges up to block `last`; `pools` are the listener's. */
export async function storedRanges(
  client: ClickHouseClient,
  network: NetworkName,
  pools: readonly PoolId[] | undefined,
  last: number,
): Promise<StoredRange[]> {
  const [start, tip, ranges] = await Promise.all([
    ledgerStart(client, network),
    newestBlock(client, network),
    ask<BlockRange & { job: number; filter: string }>(
      client,
      `SELECT job, filter, toFloat64(first) AS "from", toFloat64(last) AS "to" FROM coverage FINAL
       WHERE network = {network:String} AND last <= {last:UInt64}
         AND job IN (SELECT id FROM jobs FINAL WHERE network = {network:String} AND kind = 'backfill')
       ORDER BY job, coverage.first`,
      { network, last: Math.max(0, last) },
    ),
  ])
  const poolsOf = await poolsOfFilters(
    client,
    network,
    ranges.map(({ filter }) => filter),
  )
  const stretches: StoredRange[] = []
  if (start && tip) stretches.push({ network, job: 0, pools, from: start.first, to: Math.min(tip.number, last) })
  for (const { job, filter, from, to } of ranges) {
    const before = stretches.at(-1)
    if (before?.job === job && before.to + 1 === from) before.to = to
    else stretches.push({ network, job, pools: filter === '' ? undefined : poolsOf.get(filter), from, to })
  }
  return stretches
}

/** The parts of `wanted` outside of all `covered` ranges, in order. */
export function gapsIn(wanted: BlockRange, covered: readonly BlockRange[]): BlockRange[] {
  const gaps: BlockRange[] = []
  let next = wanted.from
  for (const range of [...covered].sort((a, b) => a.from - b.from)) {
    if (range.to < next) continue
    if (range.from > wanted.to) break
    if (range.from > next) gaps.push({ from: next, to: range.from - 1 })
    next = range.to + 1
  }
  if (next <= wanted.to) gaps.push({ from: next, to: wanted.to })
  return gaps
}
