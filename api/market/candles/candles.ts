/** Candles of one pool: the newest `limit` of a range, gaps filled where the pool is known not to have traded. */
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { bucketFrom, bucketOf } from '../../query/interval.ts'
import type { Fill, PriceKind } from '../../query/query.ts'
import type { TimeRange } from '../../query/time-range.ts'
import { completeUntil, type PoolCoverage } from '../cache/coverage.ts'
import type { CandleView } from '../model/orientation.ts'
import { clampTime } from '../model/windows.ts'
import { activeSince } from './active-periods.ts'
import { fillGaps, lastFillable } from './fill-gaps.ts'
import { readStoredCandles, type StoredCandles, type StoredSource } from './stored-candles.ts'
import type { UsdCandles, UsdRequest } from './usd-candles.ts'

/** `usd` folds what the tables have no candles of. */
export type CandleSource = StoredSource & { usd: UsdCandles }

/** Bucket starts: `from ≤ start < to`. */
export type CandleRequest = UsdRequest & { price: PriceKind; range: TimeRange; fill: Fill; coverage: PoolCoverage }

/** Ascending. */
export async function readCandles(
  source: CandleSource,
  request: CandleRequest,
  now: UnixSeconds,
): Promise<readonly CandleView[]> {
  const grid = gridOf(request.range, request.interval)
  if (grid.from >= grid.to) return []
  return request.fill === 'none' ? readTraded(source, request, grid) : readFilled(source, request, grid, now)
}

/** The bucket starts of a range, as a range on the interval's own grid. */
export function gridOf(range: TimeRange, interval: number): TimeRange {
  return { from: bucketFrom(clampTime(range.from), interval), to: bucketFrom(clampTime(range.to), interval) }
}

async function readTraded(source: CandleSource, request: CandleRequest, grid: TimeRange) {
  const { view, interval, limit, price } = request
  const from = await activeSince(source.reader, view.listing, grid, interval, limit, price === 'usd' ? 'spot' : price)
  let { traded } = await readCovered(source, request, { from, to: grid.to })
  // Hours count swaps that have no price in dollars, and those of a flush under way.
  if (traded.length < limit && from > grid.from) traded = (await readCovered(source, request, grid)).traded
  return traded.slice(-limit)
}

/** Covered buckets. Where ClickHouse merges them, uncovered ones count within the limit: what they displaced is read again, from below them. */
async function readCovered(source: CandleSource, request: CandleRequest, window: TimeRange): Promise<StoredCandles> {
  const { price, limit } = request
  const range = { from: window.from, to: Math.max(window.from + request.interval, coveredTo(request, window.to)) }
  const stored =
    price === 'usd' ? await source.usd(request, range) : await readStoredCandles(source, { ...request, price }, range)
  const traded = stored.traded.filter((candle) => isCovered(request, candle))
  const uncovered = stored.traded.findLast((candle) => !isCovered(request, candle))
  const isCut = stored.traded.length >= limit && traded.length < limit
  if (!isCut || !uncovered || uncovered.time <= range.from) return { ...stored, traded }
  const below = await readCovered(source, request, { from: range.from, to: uncovered.time })
  return { ...stored, traded: [...below.traded, ...traded.filter(({ time }) => time > uncovered.time)] }
}

/** The end of the newest covered bucket that starts before `to`. */
function coveredTo({ interval, coverage: { tip, backfilled } }: CandleRequest, to: UnixSeconds): UnixSeconds {
  const ends = [tip?.timestamp ?? 0, ...backfilled.filter(({ fromTime }) => fromTime < to).map(({ toTime }) => toTime)]
  return Math.min(to, bucketOf(Math.max(...ends), interval) + interval)
}

/**
 * Without gaps in the coverage every bucket up to the last fillable one has a row once the pool has traded, so the newest `limit` buckets
 * are enough. Where a gap leaves rows out, the window is moved back to the trade before it until enough rows are found.
 */
async function readFilled(source: CandleSource, request: CandleRequest, grid: TimeRange, now: UnixSeconds) {
  const { interval, limit, coverage, flow } = request
  const lastFilled = lastFillable(coverage, now, interval)
  const end = Math.min(grid.to, lastFilled + interval)
  let window = end <= grid.from ? grid : { from: Math.max(grid.from, end - limit * interval), to: grid.to }
  for (;;) {
    const { traded, closeBefore } = await readCovered(source, request, window)
    const isFilledFromStart = traded[0]?.time !== window.from && window.from <= lastFilled
    const previous = isFilledFromStart ? await closeBefore() : undefined
    const rows = fillGaps({ traded, previous, window, lastFilled, gaps: coverage.gaps, interval, limit, flow })
    const isShort = rows.length < limit && window.from > grid.from && previous !== undefined
    if (!isShort) return rows
    const rowsEnd = Math.min(window.from, Math.max(previous.to, completeUntil(coverage.gaps, previous)))
    window = { from: Math.max(grid.from, bucketFrom(rowsEnd, interval) - limit * interval), to: grid.to }
  }
}

/** A bucket beyond the tip and beyond all backfilled runs may be stored in part: a flush writes candles before its tip. */
function isCovered({ interval, coverage: { tip, backfilled } }: CandleRequest, { time }: CandleView): boolean {
  if (tip !== undefined && time <= tip.timestamp) return true
  return backfilled.some(({ fromTime, toTime }) => time <= toTime && fromTime < time + interval)
}
