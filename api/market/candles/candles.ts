/** Candles of one pool: read from the coarsest stored ones that fit, gaps carried forward where that is the truth. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { KnownRange } from '../../../aggregator/history/known-ranges.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import { bucketFrom, bucketOf as startOf } from '../../query/interval.ts'
import type { Fill, PriceKind } from '../../query/query.ts'
import type { TimeRange } from '../../query/time-range.ts'
import type { BucketCache } from '../cache/bucket-cache.ts'
import { type Close, closeIn, foldRows } from '../cache/bucket-rows.ts'
import { completeUntil } from '../cache/coverage.ts'
import { type CandleView, type FoldedCandle, type PairView, viewCandle, viewPrice } from '../model/orientation.ts'
import { isFresh, type Tip } from '../model/tip.ts'
import { clampTime, resolutionOf } from '../model/windows.ts'
import { activeSince } from './active-periods.ts'

const CANDLES = readSql(new URL('./candles.sql', import.meta.url))

/** Bucket starts: `from ≤ start < to`. */
export type CandleRequest = {
  view: PairView
  interval: number
  range: TimeRange
  limit: number
  fill: Fill
  price: PriceKind
  /** Ascending. */
  gaps: readonly TimeRange[]
  /** What jobs have read of the pool, ascending. */
  covered: readonly KnownRange[]
}

/** Where candles are read: what is held of them, and what holds all. */
export type CandleStore = { reader: ClickHouseClient; cache: BucketCache }

/** Ascending. */
export async function readCandles(
  store: CandleStore,
  asked: CandleRequest,
  tip: Tip | undefined,
  now: UnixSeconds,
): Promise<readonly CandleView[]> {
  const { interval, limit, fill, covered } = asked
  const grid = gridOf(asked.range, interval)
  if (grid.from >= grid.to) return []
  // What neither the ledger nor a job vouches for yet may be there in part.
  const isShown = ({ time }: CandleView) =>
    (tip !== undefined && time <= tip.timestamp) ||
    covered.some(({ fromTime, toTime }) => time <= toTime && fromTime < time + interval)
  const shown = (rows: readonly CandleView[]) => rows.filter(isShown)
  if (fill === 'none') {
    const from = await activeSince(store.reader, asked.view.listing, grid, interval, limit)
    const { traded } = await readTraded(store, asked, { from, to: grid.to })
    return shown(traded).slice(-limit)
  }
  const { gaps: unknown } = asked
  const lastFilled = lastFillable(tip, now, interval, covered)
  // Where nothing is unknown every bucket up to the last filled one has a row once the pool has traded, so no row lies further back than this.
  const end = Math.min(grid.to, lastFilled + interval)
  let window = end <= grid.from ? grid : { from: Math.max(grid.from, end - limit * interval), to: grid.to }
  for (;;) {
    const { traded: stored, closeBefore } = await readTraded(store, asked, window)
    const traded = shown(stored)
    const isFilledFromStart = traded[0]?.time !== window.from && window.from <= lastFilled
    const previous = isFilledFromStart ? await closeBefore() : undefined
    const rows = fillGaps({ traded, previous, window, lastFilled, unknown, interval, limit })
    const isShort = rows.length < limit && window.from > grid.from && previous !== undefined
    if (!isShort) return rows
    // The newest rows before what is unknown.
    const rowsEnd = Math.min(window.from, Math.max(previous.to, completeUntil(unknown, previous)))
    window = { from: Math.max(grid.from, bucketFrom(rowsEnd, interval) - limit * interval), to: grid.to }
  }
}

/** The bucket starts of a range, as a range on the interval's own grid. */
export function gridOf(range: TimeRange, interval: number): TimeRange {
  return { from: bucketFrom(clampTime(range.from), interval), to: bucketFrom(clampTime(range.to), interval) }
}

/**
 * The last bucket that may be filled: the one that holds the tip, or the newest block that a job has read, for the chain has told all
 * up to there; and from the tip up to now only while the ledger keeps up, for then silence means no trade.
 */
export function lastFillable(
  tip: Tip | undefined,
  now: UnixSeconds,
  interval: number,
  covered: readonly KnownRange[] = [],
): UnixSeconds {
  const told = Math.max(tip?.timestamp ?? -1, covered.at(-1)?.toTime ?? -1)
  if (told < 0) return Number.NEGATIVE_INFINITY
  return startOf(tip && isFresh(tip, now) ? Math.max(told, now) : told, interval)
}

/** The newest `limit` rows of a window. Before the pool's first trade there is no close to carry, so there is no row. */
export function fillGaps(options: {
  /** Ascending, all within the window. */
  traded: readonly CandleView[]
  /** The newest trade before the window. */
  previous: Trade | undefined
  window: TimeRange
  lastFilled: UnixSeconds
  unknown: readonly TimeRange[]
  interval: number
  limit: number
}): readonly CandleView[] {
  const { traded, previous, window, lastFilled, unknown, interval, limit } = options
  const rows: CandleView[] = []
  let close = previous?.close
  let silentTo = previous ? completeUntil(unknown, previous) : Number.NEGATIVE_INFINITY
  let next = window.from
  const fillUpTo = (end: UnixSeconds) => {
    for (; close !== undefined && next < end && next <= lastFilled && next + interval <= silentTo; next += interval)
      rows.push({ time: next, open: close, high: close, low: close, close, volume: 0, trades: 0 })
  }
  for (const candle of traded) {
    fillUpTo(candle.time)
    rows.push(candle)
    close = candle.close
    next = candle.time + interval
    silentTo = completeUntil(unknown, { from: candle.time, to: next })
  }
  fillUpTo(window.to)
  return rows.slice(-limit)
}

/** What a trade left as the price, and in which bucket it was. */
export type Trade = TimeRange & { close: number }

type StoredCandles = {
  /** Ascending; the newest ones at least. */
  traded: readonly CandleView[]
  /** The newest trade before the range. */
  closeBefore(): Promise<Trade | undefined>
}

async function readTraded(
  { reader, cache }: CandleStore,
  asked: CandleRequest,
  range: TimeRange,
): Promise<StoredCandles> {
  const { view, interval, price } = asked
  const window = { from: clampTime(range.from), to: clampTime(range.to) }
  const tradeOf = (close: Close | undefined): Trade | undefined =>
    close && { ...close, close: viewPrice(view.forward, price === 'spot' ? close.spot_close : close.close) }
  const chunks = await cache.read(view.listing, resolutionOf(interval), window)
  if (!chunks) {
    return {
      traded: await readStored(reader, asked, window),
      closeBefore: async () => tradeOf(await cache.closeBefore(view.listing, window.from)),
    }
  }
  const rows = chunks.map((chunk) => chunk.rows)
  const folded = foldRows(rows, { interval, range: window, kind: price, token: view.forward ? 1 : 0 })
  return {
    traded: folded.map((bucket) => viewCandle(view, bucket)),
    async closeBefore() {
      const [first] = chunks
      if (!first) return undefined
      const held = closeIn(first.rows, first.resolution, window.from)
      return tradeOf(held ?? (await cache.closeBefore(view.listing, first.range.from)))
    },
  }
}

type StoredCandle = Record<'bucket' | `${'' | 'spot_'}${'open' | 'high' | 'low' | 'close'}`, number> &
  Record<'volume0' | 'volume1' | 'trades', string>

async function readStored(
  reader: ClickHouseClient,
  asked: CandleRequest,
  range: TimeRange,
): Promise<readonly CandleView[]> {
  const { view, interval, limit, price } = asked
  const { network, pool } = view.listing
  const parameters = {
    network: network.name,
    pool: pool.id,
    interval,
    resolution: resolutionOf(interval),
    ...range,
    limit,
  }
  const rows = await queryRows<StoredCandle>(reader, CANDLES, parameters)
  return rows.map((row) => viewCandle(view, bucketOf(row, price, view.forward))).reverse()
}

function bucketOf(row: StoredCandle, price: PriceKind, forward: boolean): FoldedCandle {
  const { bucket, open, high, low, close } = row
  const prices =
    price === 'spot'
      ? { open: row.spot_open, high: row.spot_high, low: row.spot_low, close: row.spot_close }
      : { open, high, low, close }
  return { bucket, ...prices, volume: BigInt(forward ? row.volume1 : row.volume0), trades: Number(row.trades) }
}
