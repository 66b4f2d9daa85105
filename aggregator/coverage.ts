/** Coverage: which ranges of final blocks are known whole, because a job read them. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Restatement } from '../ingest/message.ts'
import type { NetworkName } from '../ingest/network.ts'
import type { PoolId } from '../ingest/pool.ts'
import { digestOf } from './digest.ts'
import { ask, insertRows } from './store.ts'
import type { Version } from './version.ts'

/** Both ends included. */
export type BlockRange = { from: number; to: number }

export async function recordCoverage(
  client: ClickHouseClient,
  { network, job, pools, from, to, firstTimestamp, timestamp, blocks }: Restatement,
  version: Version,
): Promise<void> {
  const ticks = blocks.flatMap((block) => block.ticks)
  await insertRows(client, 'coverage', (out) => {
    out.string(network).string(filterOf(pools)).string('backfill').uint64(from).uint64(to)
    out.uint32(firstTimestamp).uint32(timestamp).uint64(ticks.length).uint64(digestOf(ticks))
    out.uint32(job).uint64(version)
  })
}

/** Whether this job, or a later one, has stated just this range for just these pools. */
export async function isRestated(client: ClickHouseClient, restatement: Restatement): Promise<boolean> {
  const { network, job, pools, from, to } = restatement
  const rows = await ask(
    client,
    `SELECT 1 FROM coverage
     WHERE network = {network:String} AND filter = {filter:String} AND first = {from:UInt64} AND last = {to:UInt64}
       AND job >= {job:UInt32} LIMIT 1`,
    { network, filter: filterOf(pools), from, to, job },
  )
  return rows.length > 0
}

/** What earlier jobs have read for these pools, or for all of them. */
export async function readCoverage(
  client: ClickHouseClient,
  network: NetworkName,
  pools: readonly PoolId[] | undefined,
): Promise<BlockRange[]> {
  return ask<BlockRange>(
    client,
    `SELECT toFloat64(first) AS "from", toFloat64(last) AS "to" FROM coverage FINAL
     WHERE network = {network:String} AND filter IN ('', {filter:String})`,
    { network, filter: filterOf(pools) },
  )
}

/** The parts of `wanted` that none of `covered` holds, in order. */
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

function filterOf(pools: readonly PoolId[] | undefined): string {
  return [...(pools ?? [])].sort().join(',')
}
