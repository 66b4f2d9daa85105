/**
 * Stored candles in memory, in chunks of fixed time ranges, evicted least recently used first. ../README.md says how they stay true.
 * lru-cache moves a value to the end whenever its size changes, so a flush would count as a use of the chunks that it changes; a lookup takes
 * 0.63 µs with it, and 0.45 µs here.
 */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Resolution } from '../../../aggregator/candles/candle.ts'
import type { PairPrice } from '../../query/query.ts'
import type { TimeRange } from '../../query/time-range.ts'
import { type Listing, listingKey } from '../model/listing.ts'
import { ALL_TIME, type RangesByResolution } from '../model/windows.ts'
import { type BucketLoads, bucketLoads } from './bucket-loads.ts'
import { type Close, closeIn, cut, merged } from './bucket-rows.ts'
import { bytesOf, type Chunk, type ChunkUpdate, type PendingChunk, type PoolChunks } from './chunk.ts'
import {
  type ChunkKey,
  chunkAt,
  chunkCount,
  chunkIndex,
  chunkKeyBefore,
  chunkKeysBefore,
  chunkKeysIn,
  chunkNumber,
  chunkRange,
} from './chunk-keys.ts'
import { ReadAhead } from './read-ahead.ts'

/** Wider queries are rare, and their chunks would evict the chunks of all other charts. */
const MAX_CHUNKS = 48
/** Bounds the age of a chunk whose change was lost. */
const MAX_AGE_MS = 60 * 60_000

export class BucketCache {
  readonly #loads: BucketLoads
  readonly #readAhead = new ReadAhead()
  readonly #maxBytes: number
  readonly #onRead: (isCached: boolean) => void
  readonly #pools = new Map<string, PoolChunks>()
  /** Least recently used first. */
  readonly #byUse = new Set<Chunk>()
  #bytes = 0
  #clock = 0

  /** `onRead` is called with each query: whether all of its chunks were cached. */
  constructor(reader: ClickHouseClient, maxBytes: number, onRead: (isCached: boolean) => void = () => {}) {
    this.#loads = bucketLoads(reader, () => this.nextQueryNumber())
    this.#maxBytes = maxBytes
    this.#onRead = onRead
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Orders the queries to the store: the rows of a later one are at least as new. */
  nextQueryNumber(): number {
    return ++this.#clock
  }

  /** True where a pool has cached or pending chunks, by `listingKey`. */
  has(key: string): boolean {
    return this.#pools.has(key)
  }

  /** The resolutions of the cached chunks of these pools. */
  resolutions(keys: Iterable<string>): Resolution[] {
    const found = new Set<Resolution>()
    for (const key of keys)
      for (const { resolution } of this.#pools.get(key)?.chunks.values() ?? []) found.add(resolution)
    return [...found]
  }

  /** The chunks of a range, ascending; undefined where the range is too wide for the cache. */
  read(listing: Listing, resolution: Resolution, range: TimeRange): Chunk[] | Promise<Chunk[]> | undefined {
    if (chunkCount(resolution, range) > MAX_CHUNKS) return undefined
    // Of hours the days are read along: a range of hours often begins before the pool's first trade, and then asks for the close before it.
    const besides = resolution === 3_600 ? ({ from }: ChunkKey) => chunkKeysBefore(from) : undefined
    const places = chunkKeysIn(resolution, range)
    const chunks = this.#chunks(listing, places, besides)
    this.#onRead(Array.isArray(chunks))
    const afterAnswer = () => setImmediate(() => this.#readFurther(listing, places))
    if (Array.isArray(chunks)) afterAnswer()
    else chunks.then(afterAnswer, () => undefined)
    return chunks
  }

  /** Unless a query waits: reads what the next page of a client needs that pages through the pool's time. */
  #readFurther(listing: Listing, places: readonly ChunkKey[]): void {
    const [first, last] = [places[0], places.at(-1)]
    if (first === undefined || last === undefined) return
    const { resolution } = first
    const key = listingKey(listing.network.name, listing.pool.id)
    const page = { first: chunkIndex(first), last: chunkIndex(last) }
    const further = this.#readAhead
      .next(`${key} ${resolution}`, page, this.#loads.isIdle())
      .map((index) => chunkAt(resolution, index))
      .filter((place) => chunkRange(place).to > listing.firstSeen && place.from < Date.now() / 1_000)
    const now = performance.now()
    const missing = further.filter((place) => !this.#cached(key, place, now))
    if (missing.length > 0) this.#fetch(listing, missing)
  }

  /** The chunks of one range for each resolution; the missing ones are read by one query. */
  async readAll(listing: Listing, ranges: RangesByResolution): Promise<Chunk[]> {
    return this.#chunks(
      listing,
      [...ranges].flatMap(([resolution, range]) => chunkKeysIn(resolution, range)),
    )
  }

  /** The last trade with a price of this kind before a second; undefined without one. */
  async closeBefore(listing: Listing, second: number, kind: PairPrice = 'spot'): Promise<Close | undefined> {
    for (let to = second; to > 0; ) {
      const [chunk] = await this.#chunks(listing, [chunkKeyBefore(to)])
      const close = chunk && closeIn(chunk.rows, chunk.resolution, to, kind)
      if (close) return close
      to = chunk?.range.from ?? 0
    }
  }

  /** The hour of the pool's last trade before the start of an hour, or its day if candles of that hour have expired. */
  async lastHour(listing: Listing, before = ALL_TIME.to): Promise<TimeRange | undefined> {
    const day = await this.closeBefore(listing, before)
    if (!day) return undefined
    const [chunk] = await this.readAll(listing, new Map([[3_600, day]]))
    const hour = chunk && closeIn(chunk.rows, chunk.resolution, Math.min(day.to, before))
    return hour && hour.from >= day.from ? hour : day
  }

  /** The trades of the pool have changed: pending chunks may have been read before, so they are not cached. */
  markStale(key: string): void {
    const ofPool = this.#pools.get(key)
    if (!ofPool) return
    for (const loading of ofPool.pending.values()) loading.isStale = true
  }

  /** Replaces changed buckets in the cached chunks. Chunks of a later query have the change already. */
  update({ key, resolution, rows, queriedAt }: ChunkUpdate): void {
    for (const chunk of this.#pools.get(key)?.chunks.values() ?? []) {
      if (chunk.resolution !== resolution || chunk.queriedAt > queriedAt) continue
      const fresh = cut(rows, chunk.range)
      if (fresh.byteLength === 0) continue
      this.#bytes -= chunk.rows.byteLength
      chunk.rows = merged(chunk.rows, fresh)
      chunk.queriedAt = queriedAt
      this.#bytes += chunk.rows.byteLength
    }
    this.#shrink()
  }

  /** Drops the chunks that overlap a range. */
  evict(key: string, range: TimeRange): void {
    for (const chunk of this.#pools.get(key)?.chunks.values() ?? []) {
      if (chunk.range.from < range.to && range.from < chunk.range.to) this.#drop(chunk)
    }
  }

  evictAll(): void {
    for (const { pending: loading } of this.#pools.values()) for (const one of loading.values()) one.isStale = true
    for (const chunk of [...this.#byUse]) this.#drop(chunk)
  }

  /** `besides`: chunks that are read along with the missing ones, by the first of these. */
  #chunks(
    listing: Listing,
    places: readonly ChunkKey[],
    besides: (missing: ChunkKey) => readonly ChunkKey[] = () => [],
  ): Chunk[] | Promise<Chunk[]> {
    const key = listingKey(listing.network.name, listing.pool.id)
    const now = performance.now()
    const isMissing = (place: ChunkKey) => !this.#cached(key, place, now)
    const missing = places.filter(isMissing)
    const [first] = missing
    if (first) this.#fetch(listing, [...missing, ...besides(first).filter(isMissing)])
    const found = places.map((place) => this.#cached(key, place, now))
    const isCached = found.every((chunk) => !(chunk instanceof Promise))
    return isCached ? (found as Chunk[]) : Promise.all(found as (Chunk | Promise<Chunk>)[])
  }

  #cached(key: string, place: ChunkKey, now: number): Chunk | Promise<Chunk> | undefined {
    const ofPool = this.#pools.get(key)
    const number = chunkNumber(place)
    const chunk = ofPool?.chunks.get(number)
    if (chunk && now - chunk.loadedMs < MAX_AGE_MS) {
      this.#byUse.delete(chunk)
      this.#byUse.add(chunk)
      return chunk
    }
    const loading = ofPool?.pending.get(number)
    return loading?.isStale ? undefined : loading?.load
  }

  /** One query: for each resolution the range from the first chunk to the last. */
  #fetch(listing: Listing, places: readonly ChunkKey[]): void {
    const ranges = new Map<Resolution, TimeRange>()
    for (const place of places) {
      const { from, to } = chunkRange(place)
      ranges.set(place.resolution, { from: ranges.get(place.resolution)?.from ?? from, to })
    }
    const loaded = this.#loads.load({ listing, ranges, chunks: places.length })
    for (const place of places) {
      const { resolution } = place
      const range = chunkRange(place)
      const load = loaded.then(({ queriedAt, rows }) => {
        return {
          listing,
          resolution,
          range,
          rows: rows(resolution, range),
          queriedAt,
          loadedMs: performance.now(),
        }
      })
      this.#await(chunkNumber(place), listing, load)
    }
  }

  #await(number: number, listing: Listing, load: Promise<Chunk>): void {
    const key = listingKey(listing.network.name, listing.pool.id)
    const ofPool = this.#pools.get(key) ?? { chunks: new Map(), pending: new Map() }
    this.#pools.set(key, ofPool)
    const loading: PendingChunk = {
      isStale: false,
      load: load
        .then((chunk) => {
          // A stale chunk still answers the queries that wait for it, which began before the change; the next query reads again.
          if (!loading.isStale) this.#keep(ofPool, number, chunk)
          return chunk
        })
        .finally(() => {
          if (ofPool.pending.get(number) === loading) ofPool.pending.delete(number)
          this.#tidy(key, ofPool)
        }),
    }
    ofPool.pending.set(number, loading)
    // Waiting queries get the error from their own promise; a chunk that was read along may have none.
    loading.load.catch(() => undefined)
  }

  #keep(ofPool: PoolChunks, number: number, chunk: Chunk): void {
    const old = ofPool.chunks.get(number)
    if (old) this.#release(old)
    ofPool.chunks.set(number, chunk)
    this.#byUse.add(chunk)
    this.#bytes += bytesOf(chunk)
    this.#shrink()
  }

  #shrink(): void {
    for (const chunk of this.#byUse) {
      if (this.#bytes <= this.#maxBytes) return
      this.#drop(chunk)
    }
  }

  #drop(chunk: Chunk): void {
    const key = listingKey(chunk.listing.network.name, chunk.listing.pool.id)
    const ofPool = this.#pools.get(key)
    ofPool?.chunks.delete(chunkNumber({ resolution: chunk.resolution, from: chunk.range.from }))
    this.#release(chunk)
    if (ofPool) this.#tidy(key, ofPool)
  }

  #release(chunk: Chunk): void {
    if (this.#byUse.delete(chunk)) this.#bytes -= bytesOf(chunk)
  }

  #tidy(key: string, ofPool: PoolChunks): void {
    if (ofPool.chunks.size === 0 && ofPool.pending.size === 0 && this.#pools.get(key) === ofPool)
      this.#pools.delete(key)
  }
}
