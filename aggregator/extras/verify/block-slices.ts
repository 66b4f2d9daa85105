/** Blocks of the ledger against their count and digest, the oldest first; then the same of ranges that jobs have overwritten. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { BlockRange } from '../../../ingest/model/block-range.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { poolsOfFilters } from '../../history/pool-filter.ts'
import { ask, loadSql } from '../../store/store.ts'
import { blocksOf, coverageOf, type StoredCoverage } from './differences.ts'
import type { VerifyPosition } from './position.ts'
import type { SliceContext, VerifySlice } from './slice.ts'

const ledgerStretch = loadSql(import.meta.url, './ledger_stretch.sql')
const nextCoverage = loadSql(import.meta.url, './next_coverage.sql')

/** Undefined where no block is left. A slice ends where a job has overwritten blocks: those are verified as a range. */
export async function nextBlockSlice(
  { client, network, bounds, point, oldest }: SliceContext,
  position: VerifyPosition,
): Promise<VerifySlice | undefined> {
  if (!point.block) return undefined
  const from = await afterCovered(client, network, position.block)
  // The newest final second may have later blocks, and their ticks come with them: its last block is left to the next pass.
  const end = point.block.number - 1
  if (from > end) return undefined
  const to = Math.min(end, (await nextCovered(client, network, from)) - 1)
  const parameters = { network, from, to, rows: bounds.blocks, ticks: TICKS_FACTOR * bounds.ticks }
  const [stretch] = await ask<Stretch>(client, ledgerStretch, parameters)
  const { last, since, until, rows } = stretch ?? { last: 0, since: 0, until: 0, rows: 0 }
  const isCut = rows === bounds.blocks || (rows > 0 && last < to)
  // Partitions of other months are left out: a tick that is stored there has the time of another block.
  const times = rows > 0 ? { since: Math.max(0, since - DAY), until: until + DAY } : {}
  const slice = { from, to: isCut ? Math.max(from, last) : to, ...times }
  const look = async () => blocksOf(client, network, slice, await coveredWithin(client, network, slice))
  // Ticks of earlier blocks may have expired.
  const isKept = rows === 0 || since >= oldest
  const doubtful = isKept ? await look() : []
  return {
    next: slice.to >= end ? undefined : { ...position, block: slice.to + 1 },
    until,
    rows,
    recheck: doubtful.length > 0 ? look : undefined,
  }
}

/**
 * Ticks are read by their index of blocks, which leaves out no pool that trades less than once in a granule: of those, a slice reads the
 * block numbers of a month. So a slice of blocks is larger than one of candles.
 */
const TICKS_FACTOR = 5
const DAY = 86_400

type Stretch = { last: number; since: UnixSeconds; until: UnixSeconds; rows: number }

/** Undefined where no range is left. A range is a message of a job, which bounds it. */
export async function nextCoverageSlice(
  { client, network, oldest }: SliceContext,
  position: VerifyPosition,
): Promise<VerifySlice | undefined> {
  const { job, block } = position
  const [row] = await ask<Omit<StoredCoverage, 'pools'> & { filter: string }>(client, nextCoverage, {
    ...{ network, job, block },
  })
  if (!row) return undefined
  const { filter, ...stated } = row
  const look = async () => {
    if (stated.firstTime < oldest || (await isSuperseded(client, network, stated))) return []
    const pools = (await poolsOfFilters(client, network, [filter])).get(filter) ?? []
    return coverageOf(client, network, { ...stated, pools })
  }
  const doubtful = await look()
  return {
    next: { ...position, job: stated.job, block: stated.from + 1 },
    until: stated.firstTime,
    rows: Number(stated.ticks),
    recheck: doubtful.length > 0 ? look : undefined,
  }
}

/** The block after all covered ranges that hold `block`. */
async function afterCovered(client: ClickHouseClient, network: NetworkName, block: number): Promise<number> {
  for (let next = block; ; ) {
    const [row] = await ask<{ newest: number; ranges: number }>(
      client,
      `SELECT toFloat64(max(last)) AS newest, toFloat64(count()) AS ranges FROM coverage FINAL
       WHERE network = {network:String} AND first <= {block:UInt64} AND last >= {block:UInt64}`,
      { network, block: next },
    )
    if (!row || row.ranges === 0) return next
    next = row.newest + 1
  }
}

async function nextCovered(client: ClickHouseClient, network: NetworkName, block: number): Promise<number> {
  const [row] = await ask<{ next: number; ranges: number }>(
    client,
    `SELECT toFloat64(min(first)) AS next, toFloat64(count()) AS ranges FROM coverage FINAL
     WHERE network = {network:String} AND first > {block:UInt64}`,
    { network, block },
  )
  return row && row.ranges > 0 ? row.next : Number.POSITIVE_INFINITY
}

/** None at first; a recheck finds those that a job has covered since. */
function coveredWithin(
  client: ClickHouseClient,
  network: NetworkName,
  { from, to }: BlockRange,
): Promise<BlockRange[]> {
  return ask<BlockRange>(
    client,
    `SELECT toFloat64(first) AS "from", toFloat64(last) AS "to" FROM coverage FINAL
     WHERE network = {network:String} AND first <= {to:UInt64} AND last >= {from:UInt64}`,
    { network, from, to },
  )
}

/** A later job stated some of the same blocks, or a rewind has cut it. */
async function isSuperseded(
  client: ClickHouseClient,
  network: NetworkName,
  { from, to, job, ticks, digest }: Pick<StoredCoverage, 'from' | 'to' | 'job' | 'ticks' | 'digest'>,
): Promise<boolean> {
  const rows = await ask<{ is_later: number | boolean }>(
    client,
    `SELECT coverage.job > {job:UInt32} AS is_later FROM coverage FINAL
     WHERE network = {network:String} AND first <= {to:UInt64} AND last >= {from:UInt64}
       AND (coverage.job > {job:UInt32} OR (coverage.job = {job:UInt32} AND first = {from:UInt64} AND last = {to:UInt64}
         AND ticks = {ticks:UInt64} AND digest = {digest:UInt64}))
     ORDER BY is_later DESC LIMIT 1`,
    { network, from, to, job, ticks, digest },
  )
  return rows.length === 0 || Boolean(rows[0]?.is_later)
}
