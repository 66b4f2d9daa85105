/**
 * Candles against ticks, a month at a time, the oldest first. A month of ticks is a partition in the order of pool and time, so a slice is the
 * next rows of the key: it reads the rows that it compares, however many pools there are and however busy one second of an hour is.
 */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { bucketStart, type Resolution } from '../../candles/candle.ts'
import { ask, loadSql } from '../../store/store.ts'
import { candlesOf, type Difference } from './differences.ts'
import type { VerifyPosition } from './position.ts'
import type { SliceContext, VerifySlice } from './slice.ts'

const sliceEnd = loadSql(import.meta.url, './slice_end.sql')
const doubtfulCandles = loadSql(import.meta.url, './doubtful_candles.sql')

const DAY = 86_400
/** After every pool: ids begin with `0x`. */
const AFTER_ALL = '~'
/** Doubtful candles of one slice that are read again; the next pass finds the rest. */
const MAX_DOUBTFUL = 1_000
/** Days of a pool that one recheck reads. */
const MAX_RECHECKED_DAYS = 20
/** Names of pools that a slice ends before. */
const NEXT_POOLS = `SELECT DISTINCT pool FROM pools
  WHERE network = {network:String} AND pool > {pool:String} ORDER BY pool LIMIT {limit:UInt32} SETTINGS max_threads = 1, max_block_size = 1024`

/** A place in the order of the key. */
type KeyPlace = { pool: string; second: UnixSeconds }
/** Seconds of a month that are final and of which all ticks are kept, `to` not included. */
type FinalMonth = { start: UnixSeconds; from: UnixSeconds; to: UnixSeconds; isLast: boolean }

/** Undefined where no month is left. */
export async function nextCandleSlice(
  context: SliceContext,
  position: VerifyPosition,
): Promise<VerifySlice | undefined> {
  const { client, network, point, bounds, oldest } = context
  const month = monthAt(Math.max(position.month, oldest), oldest, point.before)
  if (!month) return undefined
  const isGoing = month.start === position.month
  const place: KeyPlace = isGoing ? { pool: position.pool, second: position.second } : { pool: '', second: 0 }
  const { end, rows } = await endOfSlice(context, month, place, bounds.ticks)
  const doubtful = await ask<Doubtful>(client, doubtfulCandles, {
    ...{ network, from: month.from, to: month.to, pool: place.pool, second: place.second },
    ...{ end_pool: end.pool, end_second: end.second, limit: MAX_DOUBTFUL },
  })
  const isMonthDone = end.pool === AFTER_ALL
  const following = isMonthDone
    ? { month: nextMonth(month.start), pool: '', second: 0 }
    : { month: month.start, ...end }
  return {
    next: isMonthDone && month.isLast ? undefined : { ...position, ...following },
    until: isMonthDone ? month.to : month.from,
    rows,
    recheck: doubtful.length > 0 ? () => recheck(client, network, doubtful) : undefined,
  }
}

/** As many rows as the bound allows, and no more pools of the catalogue: candles without ticks are of pools between them. */
async function endOfSlice(
  { client, network, bounds }: SliceContext,
  { from, to }: FinalMonth,
  place: KeyPlace,
  limit: number,
): Promise<{ end: KeyPlace; rows: number }> {
  const [found, named] = await Promise.all([
    ask<{ pool: string; rows: number; first: number; last: number }>(client, sliceEnd, {
      ...{ network, from, to, pool: place.pool, second: place.second, limit },
    }),
    ask<{ pool: string }>(client, NEXT_POOLS, { network, pool: place.pool, limit: bounds.pools }),
  ])
  const rows = found.reduce((sum, it) => sum + it.rows, 0)
  const [first, last] = [found[0], found.at(-1)]
  let end: KeyPlace = { pool: AFTER_ALL, second: 0 }
  if (first && last && rows >= limit) {
    // The last second may extend beyond the rows that were read, unless it is all that there is.
    const second = last.last > last.first ? last.last : last.last + 1
    // One pool has more than the bound, from this place on: a part of its time. Else that pool is left to the next slice.
    end = first === last ? { pool: last.pool, second } : { pool: last.pool, second: 0 }
  }
  const bound = named.length < bounds.pools ? undefined : named.at(-1)
  if (bound && bound.pool < end.pool) end = { pool: bound.pool, second: 0 }
  return { end, rows }
}

type Doubtful = { pool: PoolId; resolution: Resolution; start: UnixSeconds }

/** From the ticks themselves: a wrong second makes its minute doubtful as well, which may be right. */
async function recheck(
  client: ClickHouseClient,
  network: NetworkName,
  doubtful: readonly Doubtful[],
): Promise<Difference[]> {
  const keyOf = ({ pool, resolution, start }: Doubtful) => `${pool} ${resolution} ${start}`
  const keys = new Set(doubtful.map(keyOf))
  const days = new Map<string, { pool: PoolId; from: UnixSeconds; to: UnixSeconds }>()
  for (const { pool, resolution, start } of doubtful) {
    const key = `${pool} ${bucketStart(start, DAY)}`
    const known = days.get(key) ?? { pool, from: start, to: start }
    days.set(key, { pool, from: Math.min(known.from, start), to: Math.max(known.to, start + resolution) })
  }
  const found: Difference[] = []
  for (const { pool, from, to } of [...days.values()].slice(0, MAX_RECHECKED_DAYS)) {
    const differences = await candlesOf(client, { network, pools: [pool], from, to })
    // Buckets that reach beyond these seconds are cut, and so differ.
    found.push(...differences.filter((one) => one.kind === 'candle' && keys.has(keyOf(one))))
  }
  return found
}

/** The month of `second`, as far as it is final; undefined where nothing of it is. */
function monthAt(second: UnixSeconds, oldest: UnixSeconds, before: UnixSeconds): FinalMonth | undefined {
  const start = monthOf(second)
  const next = nextMonth(start)
  const from = Math.max(start, bucketStart(oldest, DAY))
  const to = Math.min(next, before)
  return from < to ? { start, from, to, isLast: before <= next } : undefined
}

function monthOf(second: UnixSeconds): UnixSeconds {
  const date = new Date(second * 1000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / 1000
}

function nextMonth(start: UnixSeconds): UnixSeconds {
  return monthOf(start + 31 * DAY)
}
