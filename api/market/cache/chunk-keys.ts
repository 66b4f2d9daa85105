/** Into which pieces the time of a pool is cut, of each resolution, to be held in memory. */
import { RESOLUTIONS, type Resolution } from '../../../aggregator/candles/candle.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { bucketOf } from '../../query/interval.ts'
import type { TimeRange } from '../../query/time-range.ts'
import { resolutionOf } from '../model/windows.ts'

const HOUR = 3_600
const DAY = 24 * HOUR
/** More than the store can count. */
const ALL_TIME = 50_000 * DAY
/** How much time a chunk holds: a question for 100 candles needs a few of them. */
const CHUNK_SECONDS: Readonly<Record<Resolution, number>> = { 1: HOUR, 60: DAY, 3600: 30 * DAY, 86400: ALL_TIME }

/** Where a chunk begins. */
export type ChunkKey = { resolution: Resolution; from: UnixSeconds }

/** How many chunks it takes to hold a range, wherever it begins. */
export function chunkCount(resolution: Resolution, { from, to }: TimeRange): number {
  return Math.ceil((to - bucketOf(from, CHUNK_SECONDS[resolution])) / CHUNK_SECONDS[resolution])
}

/** Ascending. */
export function chunkKeysIn(resolution: Resolution, { from, to }: TimeRange): ChunkKey[] {
  const width = CHUNK_SECONDS[resolution]
  const places: ChunkKey[] = []
  for (let start = bucketOf(from, width); start < to; start += width) places.push({ resolution, from: start })
  return places
}

/** The coarsest chunk that ends at a second, so the one that tells most about what was before. */
export function chunkKeyBefore(second: UnixSeconds): ChunkKey {
  const resolution = resolutionOf(second)
  return { resolution, from: bucketOf(second - 1, CHUNK_SECONDS[resolution]) }
}

/** The one before, the one before that, and so on to the beginning of time. */
export function chunkKeysBefore(second: UnixSeconds): ChunkKey[] {
  if (second <= 0) return []
  const place = chunkKeyBefore(second)
  return [place, ...chunkKeysBefore(place.from)]
}

/** `from ≤ time < to` */
export function chunkRange({ resolution, from }: ChunkKey): TimeRange {
  return { from, to: from + CHUNK_SECONDS[resolution] }
}

/** A number for each: seconds since 1970 leave room for it. */
export function chunkNumber({ resolution, from }: ChunkKey): number {
  return from * RESOLUTIONS.length + RESOLUTIONS.indexOf(resolution)
}
