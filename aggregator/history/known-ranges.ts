/** Known ranges of a network: the ledger and the ranges of jobs, joined into unbroken runs; and the gaps between them. */

import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { newestBlock } from '../ledger/stored-blocks.ts'
import { ask } from '../store/store.ts'
import type { KnownRange } from './ledger-runs.ts'
import { runsOfLedger } from './ledger-runs.ts'
import { poolsOfFilters } from './pool-filter.ts'

/** In order, with a gap between each two. A job's range for some pools counts only if `pools` are among them. */
export async function knownRanges(
  client: ClickHouseClient,
  network: NetworkName,
  pools: readonly PoolId[] = [],
): Promise<KnownRange[]> {
  const [ledger, coverage] = await Promise.all([
    runsOfLedger(client, network),
    ask<KnownRange & { filter: string }>(
      client,
      `SELECT filter, toFloat64(first) AS "from", toFloat64(last) AS "to",
              toUnixTimestamp(first_time) AS "fromTime", toUnixTimestamp(last_time) AS "toTime"
       FROM coverage FINAL WHERE network = {network:String}`,
      { network },
    ),
  ])
  const poolsOf = await poolsOfFilters(
    client,
    network,
    coverage.map(({ filter }) => filter),
  )
  const covering = new Set<string>([''])
  for (const [filter, covered] of poolsOf) {
    const ids = new Set(covered)
    if (pools.length > 0 && pools.every((pool) => ids.has(pool))) covering.add(filter)
  }
  const covered = coverage.filter(({ filter }) => covering.has(filter)).map(({ filter: _, ...range }) => range)
  return joined([...ledger, ...covered])
}

/** Whether a listener or a job has stored a block of the network. */
export async function isAnyKnown(client: ClickHouseClient, network: NetworkName): Promise<boolean> {
  if (await newestBlock(client, network)) return true
  const query = 'SELECT 1 FROM coverage FINAL WHERE network = {network:String} LIMIT 1'
  return (await ask(client, query, { network })).length > 0
}

/** Ascending runs with a gap between each two. */
export function joined(ranges: readonly KnownRange[]): KnownRange[] {
  const runs: KnownRange[] = []
  for (const range of [...ranges].sort((one, other) => one.from - other.from)) {
    const last = runs.at(-1)
    if (last === undefined || range.from > last.to + 1) {
      runs.push({ ...range })
      continue
    }
    last.fromTime = Math.min(last.fromTime, range.fromTime)
    if (range.to > last.to) Object.assign(last, { to: range.to, toTime: range.toTime })
  }
  return runs
}

/** Gaps between the first and the last known block. The times are the times of the known blocks on both sides. */
export function gapsBetween(ranges: readonly KnownRange[]): KnownRange[] {
  return ranges.slice(1).map((range, index) => {
    const before = ranges[index] ?? range
    return { from: before.to + 1, to: range.from - 1, fromTime: before.toTime, toTime: range.fromTime }
  })
}
