/** Chunks of the cache: fixed ranges of a pool's time, one width for each resolution. */
import { RESOLUTIONS, type Resolution } from '../../../aggregator/candles/candle.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { bucketOf } from '../../query/interval.ts'
import type { TimeRange } from '../../query/time-range.ts'
import { resolutionOf } from '../model/windows.ts'

const HOUR = 3_600
const DAY = 24 * HOUR
/** Beyond the range of DateTime in ClickHouse. */
const ALL_TIME = 50_000 * DAY
/** A query for 100 candles needs a few chunks. */
export const CHUNK_SECONDS: Readonly<Record<Resolution, number>> = { 1: HOUR, 60: DAY, 3600: 30 * DAY, 86400: ALL_TIME }

/** `from`: the start of the chunk. */
export type ChunkKey = { resolution: Resolution; from: UnixSeconds }

/** The number of chunks that a range overlaps. */
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

/** Counts the chunks of a resolution in the order of time. */
export function chunkIndex({ resolution, from }: ChunkKey): number {
  return from / CHUNK_SECONDS[resolution]
}

export function chunkAt(resolution: Resolution, index: number): ChunkKey {
  return { resolution, from: index * CHUNK_SECONDS[resolution] }
}

/** The coarsest chunk that ends at a second: it covers the most time before it. */
export function chunkKeyBefore(second: UnixSeconds): ChunkKey {
  const resolution = resolutionOf(second)
  return { resolution, from: bucketOf(second - 1, CHUNK_SECONDS[resolution]) }
}

/** The chunk before a second, the one before that one, and so on back to 1970. */
export function chunkKeysBefore(second: UnixSeconds): ChunkKey[] {
  if (second <= 0) return []
  const place = chunkKeyBefore(second)
  return [place, ...chunkKeysBefore(place.from)]
}

/** `from ≤ time < to` */
export function chunkRange({ resolution, from }: ChunkKey): TimeRange {
  return { from, to: from + CHUNK_SECONDS[resolution] }
}

/** Unique for each chunk of a pool. */
export function chunkNumber({ resolution, from }: ChunkKey): number {
  return from * RESOLUTIONS.length + RESOLUTIONS.indexOf(resolution)
}
