/** Slices: all that is stored of a stretch of time, cut into pieces that a statement reads by the primary key and holds in memory. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { askGroups, filterGroups } from '../store/pool-groups.ts'
import { ask } from '../store/store.ts'
import { bucketStart } from './candle.ts'

/** Whole days, `to` not included. */
export type Slice = { pools: readonly PoolId[]; from: UnixSeconds; to: UnixSeconds }

const TICKS_PER_SLICE = 1_000_000
const POOLS_PER_SLICE = 500
const DAY = 86_400

const STOCKS = `SELECT pool, toFloat64(sum(rows)) AS ticks, toUnixTimestamp(min(least)) AS first, toUnixTimestamp(max(most)) AS last
   FROM (
     SELECT pool, count() AS rows, min(time) AS least, max(time) AS most FROM ticks
     WHERE network = {network:String} AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
       AND time BETWEEN toDateTime({from:UInt32}, 'UTC') AND toDateTime({to:UInt32}, 'UTC') GROUP BY pool
     UNION ALL
     SELECT pool, 0 AS rows, min(time) AS least, max(time) AS most FROM candles
     WHERE network = {network:String} AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
       AND resolution = 86400
       AND time BETWEEN toStartOfDay(toDateTime({from:UInt32}, 'UTC')) AND toDateTime({to:UInt32}, 'UTC') GROUP BY pool
   ) GROUP BY pool ORDER BY pool`

type Stock = { pool: PoolId; ticks: number; first: UnixSeconds; last: UnixSeconds }

/** `ticksPerSlice`: what a statement that has a time limit reads in a small part of it. */
type SlicedRange = {
  pools?: readonly PoolId[] | undefined
  from: UnixSeconds
  to: UnixSeconds
  ticksPerSlice?: number
}

/** Everything with a second from `from` to `to`, both included, of these pools, or of all where absent. */
export async function slicesOf(
  client: ClickHouseClient,
  network: NetworkName,
  { pools = [], from, to, ticksPerSlice = TICKS_PER_SLICE }: SlicedRange,
): Promise<Slice[]> {
  const stocks = await askGroups(filterGroups(pools), (pools) =>
    ask<Stock>(client, STOCKS, { network, pools, from, to }),
  )
  const slices: Slice[] = []
  let group: Stock[] = []
  let ticks = 0
  const close = () => {
    if (group.length > 0) slices.push(...cut(group, Math.ceil(ticks / ticksPerSlice)))
    group = []
    ticks = 0
  }
  for (const stock of stocks) {
    if (ticks + stock.ticks > ticksPerSlice || group.length >= POOLS_PER_SLICE) close()
    group.push(stock)
    ticks += stock.ticks
  }
  close()
  return slices
}

/** So many slices at the most: more than one where a single pool has more ticks than a slice may have. */
function cut(group: readonly Stock[], count: number): Slice[] {
  const pools = group.map(({ pool }) => pool)
  const first = bucketStart(Math.min(...group.map((stock) => stock.first)), DAY)
  const end = bucketStart(Math.max(...group.map((stock) => stock.last)), DAY) + DAY
  const days = (end - first) / DAY
  const width = Math.max(1, Math.ceil(days / Math.max(1, count))) * DAY
  return Array.from({ length: Math.ceil((days * DAY) / width) }, (_, index) => {
    const from = first + index * width
    return { pools, from, to: Math.min(end, from + width) }
  })
}
