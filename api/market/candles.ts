/** Candles of one pool: read from the coarsest stored ones that fit, gaps carried forward where that is the truth. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/message.ts'
import { bucketFrom, bucketOf } from '../interval.ts'
import type { Fill, PriceKind } from '../query.ts'
import { ask, readSql } from '../store.ts'
import { busySince } from './busy.ts'
import { type Candle, type StoredCandle, type View, viewCandle, viewPrice } from './orientation.ts'
import { lagSeconds, type Tip } from './tip.ts'
import { clampTime, type Range, resolutionOf, windowsOf } from './windows.ts'

const CANDLES = readSql(new URL('./candles.sql', import.meta.url))
const PREVIOUS = readSql(new URL('./previous-close.sql', import.meta.url))

/** Bucket starts: `from ≤ start < to`. */
export type CandleAsk = { view: View; interval: number; range: Range; limit: number; fill: Fill; price: PriceKind }

/** How late a ledger may be and still vouch for the time up to now. */
const FRESH_SECONDS = 60

/** Ascending. */
export async function readCandles(
  reader: ClickHouseClient,
  asked: CandleAsk,
  tip: Tip | undefined,
  now: UnixSeconds,
): Promise<readonly Candle[]> {
  const { interval, limit, fill } = asked
  const grid = gridOf(asked.range, interval)
  if (grid.from >= grid.to) return []
  if (fill === 'none') {
    const from = await busySince(reader, asked.view.listing, grid, interval, limit)
    return readTraded(reader, asked, { from, to: grid.to })
  }
  const lastFilled = lastFillable(tip, now, interval)
  // Every bucket up to the last filled one has a row once the pool has traded, so no row lies further back than this.
  const end = Math.min(grid.to, lastFilled + interval)
  const window = end <= grid.from ? grid : { from: Math.max(grid.from, end - limit * interval), to: grid.to }
  const [traded, previousClose] = await Promise.all([
    readTraded(reader, asked, window),
    readPreviousClose(reader, asked, window.from),
  ])
  return fillGaps({ traded, previousClose, window, lastFilled, interval, limit })
}

/** The bucket starts of a range, as a range on the interval's own grid. */
export function gridOf(range: Range, interval: number): Range {
  return { from: bucketFrom(clampTime(range.from), interval), to: bucketFrom(clampTime(range.to), interval) }
}

/**
 * The last bucket that may be filled: the one that holds the tip, for the chain has told all up to there; and from there up
 * to now only while the ledger keeps up, for then silence means no trade.
 */
export function lastFillable(tip: Tip | undefined, now: UnixSeconds, interval: number): UnixSeconds {
  if (tip === undefined) return Number.NEGATIVE_INFINITY
  const reached = lagSeconds(tip, now) < FRESH_SECONDS ? Math.max(tip.timestamp, now) : tip.timestamp
  return bucketOf(reached, interval)
}

/** The newest `limit` rows of a window. Before the pool's first trade there is no close to carry, so there is no row. */
export function fillGaps(options: {
  /** Ascending, all within the window. */
  traded: readonly Candle[]
  previousClose: number | undefined
  window: Range
  lastFilled: UnixSeconds
  interval: number
  limit: number
}): readonly Candle[] {
  const { traded, window, lastFilled, interval, limit } = options
  const rows: Candle[] = []
  let close = options.previousClose
  let next = window.from
  const fillUpTo = (end: UnixSeconds) => {
    for (; close !== undefined && next < end && next <= lastFilled; next += interval)
      rows.push({ time: next, open: close, high: close, low: close, close, volume: 0, trades: 0 })
  }
  for (const candle of traded) {
    fillUpTo(candle.time)
    rows.push(candle)
    close = candle.close
    next = candle.time + interval
  }
  fillUpTo(window.to)
  return rows.slice(-limit)
}

async function readTraded(reader: ClickHouseClient, asked: CandleAsk, range: Range): Promise<readonly Candle[]> {
  const { view, interval, limit, price } = asked
  const rows = await ask<StoredCandle>(reader, CANDLES, {
    network: view.listing.network.name,
    pool: view.listing.pool.id,
    interval,
    resolution: resolutionOf(interval),
    from: clampTime(range.from),
    to: clampTime(range.to),
    limit,
  })
  return rows.map((row) => viewCandle(view, price, row)).reverse()
}

async function readPreviousClose(
  reader: ClickHouseClient,
  { view, price }: CandleAsk,
  before: UnixSeconds,
): Promise<number | undefined> {
  const [row] = await ask<{ close: number; spot_close: number }>(reader, PREVIOUS, {
    network: view.listing.network.name,
    pool: view.listing.pool.id,
    ...windowsOf({ from: 0, to: clampTime(before) }),
  })
  if (row === undefined) return undefined
  return viewPrice(view.forward, price === 'spot' ? row.spot_close : row.close)
}
