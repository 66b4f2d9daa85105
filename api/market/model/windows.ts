/** Splits a time range over the stored resolutions: whole days where it has any, seconds only at its edges. */
import { RESOLUTIONS, type Resolution } from '../../../aggregator/candles/candle.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { TimeRange } from '../../query/time-range.ts'

/** Whole days, up to the end of DateTime in ClickHouse. */
export const ALL_TIME: TimeRange = { from: 0, to: 49_710 * 86_400 }

/** The coarsest stored resolution that divides an interval. */
export function resolutionOf(interval: number): Resolution {
  return RESOLUTIONS.findLast((resolution) => interval % resolution === 0) ?? 1
}

/** One range for each resolution. */
export type RangesByResolution = ReadonlyMap<Resolution, TimeRange>

/**
 * A range in two halves: the earlier one goes from seconds to days, the later one back to seconds. Each piece lies on its own grid; empty
 * pieces are left out.
 */
export function halvesOf(range: TimeRange): readonly [earlier: RangesByResolution, later: RangesByResolution] {
  const earlier = new Map<Resolution, TimeRange>()
  const later = new Map<Resolution, TimeRange>()
  let [from, to] = [range.from, Math.max(range.from, range.to)]
  for (const [index, resolution] of RESOLUTIONS.entries()) {
    const coarser = RESOLUTIONS[index + 1]
    const [first, last] = coarser ? [Math.ceil(from / coarser) * coarser, Math.floor(to / coarser) * coarser] : [to, to]
    // No whole coarser bucket inside: the rest is read at this resolution.
    const [end, start] = first > last ? [to, to] : [first, last]
    if (from < end) earlier.set(resolution, { from, to: end })
    if (start < to) later.set(resolution, { from: start, to })
    ;[from, to] = [end, start]
  }
  return [earlier, later]
}

/** DateTime has 32 bits of seconds: no row lies beyond. */
export function clampTime(time: UnixSeconds): UnixSeconds {
  return Math.min(Math.max(time, 0), 0xffff_ffff)
}
