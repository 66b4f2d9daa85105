/** A chunk of the cache: the stored candles of one pool and resolution in a fixed time range. */
import type { Resolution } from '../../../aggregator/candles/candle.ts'
import type { TimeRange } from '../../query/time-range.ts'
import type { Listing } from '../model/listing.ts'
import type { BucketRows } from './bucket-rows.ts'

export type Chunk = {
  listing: Listing
  resolution: Resolution
  /** `from ≤ time < to` */
  range: TimeRange
  rows: BucketRows
  /** The number of the query that read the rows, see `nextQueryNumber`. */
  queriedAt: number
  loadedMs: number
}

/** Changed buckets of a pool, those that lost their trades included. */
export type ChunkUpdate = { key: string; resolution: Resolution; rows: BucketRows; queriedAt: number }

export type PendingChunk = { load: Promise<Chunk>; isStale: boolean }
/** By `chunkNumber`. */
export type PoolChunks = { chunks: Map<number, Chunk>; pending: Map<number, PendingChunk> }

/** Memory of a chunk beside its rows. */
const CHUNK_BYTES = 600

export function bytesOf({ rows }: Chunk): number {
  return rows.byteLength + CHUNK_BYTES
}
