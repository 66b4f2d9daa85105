/** Finds where the newest trades of a long range begin, in candles of hours and days instead of seconds. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import { bucketFrom, bucketOf } from '../../query/interval.ts'
import type { PairPrice } from '../../query/query.ts'
import type { TimeRange } from '../../query/time-range.ts'
import type { Listing } from '../model/listing.ts'
import { clampTime } from '../model/windows.ts'

const ACTIVE_PERIODS = readSql(new URL('./active-periods.sql', import.meta.url))

const HOUR = 3_600
const DAY = 86_400
/** All days that a time of 32 bits can have. */
const MAX_PERIODS = 50_000

/** A start from which the range holds its newest `limit` buckets with a price of the kind. */
export async function activeSince(
  reader: ClickHouseClient,
  listing: Listing,
  grid: TimeRange,
  interval: number,
  limit: number,
  price: PairPrice,
): Promise<UnixSeconds> {
  const span = interval <= HOUR ? HOUR : DAY
  // A bucket touches two spans at most, and the newest span may have its trades after the range.
  const spans = 2 * limit + 1
  if (grid.to - grid.from <= spans * span) return grid.from
  const range = { from: bucketOf(grid.from, span), to: grid.to }
  const active = await readActivePeriods(reader, listing, span, range, spans, price)
  const oldest = active.at(-1)
  if (active.length < spans || oldest === undefined) return grid.from
  return Math.max(grid.from, bucketFrom(oldest.time, interval))
}

/** A start from which the range holds its newest `limit` swaps, by the trade counts of candles. */
export async function swapsSince(
  reader: ClickHouseClient,
  listing: Listing,
  range: TimeRange,
  limit: number,
): Promise<UnixSeconds> {
  if (range.to - range.from <= DAY) return range.from
  // Hours within the range; swaps at its edges come on top.
  const whole = { from: bucketFrom(range.from, HOUR), to: bucketOf(range.to, HOUR) }
  let swaps = 0
  for (const hour of await readActivePeriods(reader, listing, HOUR, whole, limit, 'spot')) {
    swaps += hour.trades
    if (swaps >= limit) return hour.time
  }
  return range.from
}

/** The number of swaps in a range and in the rest of the days, or hours, at its ends. */
export async function swapsIn(reader: ClickHouseClient, listing: Listing, range: TimeRange): Promise<number> {
  const span = range.to - range.from <= DAY ? HOUR : DAY
  const whole = { from: bucketOf(range.from, span), to: range.to }
  const periods = await readActivePeriods(reader, listing, span, whole, MAX_PERIODS, 'spot')
  return periods.reduce((sum, { trades }) => sum + trades, 0)
}

async function readActivePeriods(
  reader: ClickHouseClient,
  listing: Listing,
  resolution: number,
  range: TimeRange,
  limit: number,
  price: PairPrice,
): Promise<readonly { time: UnixSeconds; trades: number }[]> {
  const rows = await queryRows<{ time: number; trades: string }>(reader, ACTIVE_PERIODS, {
    network: listing.network.name,
    pool: listing.pool.id,
    resolution,
    from: clampTime(range.from),
    to: clampTime(range.to),
    limit,
    price,
  })
  return rows.map((row) => ({ time: row.time, trades: Number(row.trades) }))
}
