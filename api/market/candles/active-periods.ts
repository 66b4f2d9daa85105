/** Where the newest trades of a long range are, found in hours and days instead of in every second. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import { bucketFrom, bucketOf } from '../../query/interval.ts'
import type { TimeRange } from '../../query/time-range.ts'
import type { Listing } from '../model/listing.ts'
import { clampTime } from '../model/windows.ts'

const ACTIVE_PERIODS = readSql(new URL('./active-periods.sql', import.meta.url))

const HOUR = 3_600
const DAY = 86_400

/** From where on the newest `limit` buckets that were traded in are sure to be found. */
export async function activeSince(
  reader: ClickHouseClient,
  listing: Listing,
  grid: TimeRange,
  interval: number,
  limit: number,
): Promise<UnixSeconds> {
  const span = interval <= HOUR ? HOUR : DAY
  // A bucket touches two spans at most, and the newest span may have its trades after the range.
  const spans = 2 * limit + 1
  if (grid.to - grid.from <= spans * span) return grid.from
  const busy = await readActivePeriods(reader, listing, span, { from: bucketOf(grid.from, span), to: grid.to }, spans)
  const oldest = busy.at(-1)
  if (busy.length < spans || oldest === undefined) return grid.from
  return Math.max(grid.from, bucketFrom(oldest.time, interval))
}

/** From where on the newest `limit` swaps are found, as far as candles can tell. */
export async function swapsSince(
  reader: ClickHouseClient,
  listing: Listing,
  range: TimeRange,
  limit: number,
): Promise<UnixSeconds> {
  if (range.to - range.from <= DAY) return range.from
  // Hours that lie wholly inside: what the edges hold comes on top.
  const whole = { from: bucketFrom(range.from, HOUR), to: bucketOf(range.to, HOUR) }
  let swaps = 0
  for (const hour of await readActivePeriods(reader, listing, HOUR, whole, limit)) {
    swaps += hour.trades
    if (swaps >= limit) return hour.time
  }
  return range.from
}

async function readActivePeriods(
  reader: ClickHouseClient,
  listing: Listing,
  resolution: number,
  range: TimeRange,
  limit: number,
): Promise<readonly { time: UnixSeconds; trades: number }[]> {
  const rows = await queryRows<{ time: number; trades: string }>(reader, ACTIVE_PERIODS, {
    network: listing.network.name,
    pool: listing.pool.id,
    resolution,
    from: clampTime(range.from),
    to: clampTime(range.to),
    limit,
  })
  return rows.map((row) => ({ time: row.time, trades: Number(row.trades) }))
}
