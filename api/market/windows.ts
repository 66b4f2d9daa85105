/** How a stretch of time is read from candles of four resolutions: whole days where it holds any, seconds only at its edges. */
import { RESOLUTIONS, type Resolution } from '../../aggregator/candle.ts'
import type { UnixSeconds } from '../../ingest/message.ts'

/** `from ≤ time < to` */
export type Range = { from: UnixSeconds; to: UnixSeconds }

/** The coarsest stored candles that an interval is made of. */
export function resolutionOf(interval: number): Resolution {
  return RESOLUTIONS.findLast((resolution) => interval % resolution === 0) ?? 1
}

/**
 * Eight ascending bounds: t0..t1 and t6..t7 are read at 1 s, t1..t2 and t5..t6 at 60 s, t2..t3 and t4..t5 at 3600 s,
 * t3..t4 at 86400 s. Together they are the range, and each lies on its own grid.
 */
export function windowsOf(range: Range): Record<`t${0 | 1 | 2 | 3 | 4 | 5 | 6 | 7}`, UnixSeconds> {
  const left = [range.from]
  const right = [Math.max(range.from, range.to)]
  let [from, to] = [range.from, Math.max(range.from, range.to)]
  for (const coarser of [60, 3_600, 86_400]) {
    const first = Math.ceil(from / coarser) * coarser
    const last = Math.floor(to / coarser) * coarser
    // Nothing whole inside: what is left is read here, and the coarser pieces are empty.
    if (first > last) from = to
    else [from, to] = [first, last]
    left.push(from)
    right.unshift(to)
  }
  const [t0 = 0, t1 = 0, t2 = 0, t3 = 0] = left
  const [t4 = 0, t5 = 0, t6 = 0, t7 = 0] = right
  return { t0, t1, t2, t3, t4, t5, t6, t7 }
}

/** The store counts seconds in 32 bits: a range that reaches beyond holds no more than one that ends there. */
export function clampTime(time: UnixSeconds): UnixSeconds {
  return Math.min(Math.max(time, 0), 0xffff_ffff)
}
