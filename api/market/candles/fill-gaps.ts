/** Buckets without trades: the close before them is carried forward, where the pool is known not to have traded. */
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { bucketOf } from '../../query/interval.ts'
import type { TimeRange } from '../../query/time-range.ts'
import { completeUntil, lastCovered, type PoolCoverage } from '../cache/coverage.ts'
import { type CandleView, NO_FLOW } from '../model/orientation.ts'
import { isFresh } from '../model/tip.ts'

/** The price after a trade, and the bucket of the trade. */
export type Trade = TimeRange & { close: number }

/**
 * The start of the last bucket that may be filled: the one that holds the newest covered second. From the tip up to `now` buckets are
 * filled only while the ledger keeps up with the clock: then no stored trade means no trade.
 */
export function lastFillable(
  { tip, backfilled }: Pick<PoolCoverage, 'tip' | 'backfilled'>,
  now: UnixSeconds,
  interval: number,
): UnixSeconds {
  const covered = lastCovered({ tip, backfilled })
  if (covered < 0) return Number.NEGATIVE_INFINITY
  return bucketOf(tip && isFresh(tip, now) ? Math.max(covered, now) : covered, interval)
}

/** The newest `limit` rows of a window. Before the pool's first trade there is no close to carry, so there is no row. */
export function fillGaps(options: {
  /** Ascending, all within the window. */
  traded: readonly CandleView[]
  /** The newest trade before the window. */
  previous: Trade | undefined
  window: TimeRange
  lastFilled: UnixSeconds
  /** Ascending: time in which trades may be missing. */
  gaps: readonly TimeRange[]
  interval: number
  limit: number
  /** Whether rows have what was traded. */
  flow?: boolean
}): readonly CandleView[] {
  const { traded, previous, window, lastFilled, gaps, interval, limit } = options
  const untraded = { volume: 0, trades: 0, ...(options.flow && { flow: NO_FLOW }) }
  const rows: CandleView[] = []
  let close = previous?.close
  let completeTo = previous ? completeUntil(gaps, previous) : Number.NEGATIVE_INFINITY
  let next = window.from
  const fillUpTo = (end: UnixSeconds) => {
    for (; close !== undefined && next < end && next <= lastFilled && next + interval <= completeTo; next += interval)
      rows.push({ time: next, open: close, high: close, low: close, close, ...untraded })
  }
  for (const candle of traded) {
    fillUpTo(candle.time)
    rows.push(candle)
    close = candle.close
    next = candle.time + interval
    completeTo = completeUntil(gaps, { from: candle.time, to: next })
  }
  fillUpTo(window.to)
  return rows.slice(-limit)
}
