/** Stored candles held in memory, in chunks: what was asked lately is answered without the store. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Resolution } from '../../../aggregator/candles/candle.ts'
import type { TimeRange } from '../../query/time-range.ts'
import { type Listing, listingKey } from '../model/listing.ts'
import { ALL_TIME, type RangesByResolution } from '../model/windows.ts'
import { bucketLoads } from './bucket-loads.ts'
import { type BucketRows, type Close, closeIn, cut, merged } from './bucket-rows.ts'
import {
  type ChunkKey,
  chunkCount,
  chunkKeyBefore,
  chunkKeysBefore,
  chunkKeysIn,
  chunkNumber,
  chunkRange,
} from './chunk-keys.ts'

/** Wider questions are rare, and would drive out what everybody else asks for. */
const MAX_CHUNKS = 48
/** Whatever nobody tells of is seen at the latest after this. */
const MAX_AGE_MS = 60 * 60_000
/** What a chunk weighs besides its rows. */
const CHUNK_BYTES = 600

export type Chunk = {
  listing: Listing
  resolution: Resolution
  /** `from ≤ time < to` */
  range: TimeRange
  rows: BucketRows
  /** When the rows were asked for, on the cache's own clock. */
  queriedAt: number
  loadedMs: number
}

/** Buckets of a pool that have changed; those that lost their trades as well. */
type ChunkUpdate = { key: string; resolution: Resolution; rows: BucketRows; queriedAt: number }

type PendingChunk = { load: Promise<Chunk>; isStale: boolean }
/** Of a pool, by the number of the place. */
type PoolChunks = { chunks: Map<number, Chunk>; pending: Map<number, PendingChunk> }

export class BucketCache {
  readonly #load: ReturnType<typeof bucketLoads>
  readonly #mostBytes: number
  readonly #onRead: (isHeld: boolean) => void
  readonly #pools = new Map<string, PoolChunks>()
  /** The chunk that was not needed for the longest time first. */
  readonly #byUse = new Set<Chunk>()
  #bytes = 0
  #clock = 0

  /** `onRead` hears of each question whether everything was held. */
  constructor(reader: ClickHouseClient, mostBytes: number, onRead: (isHeld: boolean) => void = () => {}) {
    this.#load = bucketLoads(reader, () => this.nextQueryNumber())
    this.#mostBytes = mostBytes
    this.#onRead = onRead
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Goes up with every question to the store: of two answers, the one that was asked for later knows more. */
  nextQueryNumber(): number {
    return ++this.#clock
  }

  /** Whether anything of a pool is held or on its way, by `listingKey`. */
  has(key: string): boolean {
    return this.#pools.has(key)
  }

  /** Of which resolutions something is held of some pools. */
  resolutions(keys: Iterable<string>): Resolution[] {
    const found = new Set<Resolution>()
    for (const key of keys)
      for (const { resolution } of this.#pools.get(key)?.chunks.values() ?? []) found.add(resolution)
    return [...found]
  }

  /** The ascending chunks that a range is in; undefined where they would be too many. */
  read(listing: Listing, resolution: Resolution, range: TimeRange): Chunk[] | Promise<Chunk[]> | undefined {
    if (chunkCount(resolution, range) > MAX_CHUNKS) return undefined
    // What was before is likely to be asked for next.
    const chunks = this.#chunks(listing, chunkKeysIn(resolution, range), ({ from }) => chunkKeysBefore(from))
    this.#onRead(Array.isArray(chunks))
    return chunks
  }

  /** The chunks that a stretch of each resolution is in, asked for by one question. */
  async readAll(listing: Listing, ranges: RangesByResolution): Promise<Chunk[]> {
    return this.#chunks(
      listing,
      [...ranges].flatMap(([resolution, range]) => chunkKeysIn(resolution, range)),
    )
  }

  /** What traded last before a second; undefined where nothing did. */
  async closeBefore(listing: Listing, second: number): Promise<Close | undefined> {
    for (let to = second; to > 0; ) {
      const [chunk] = await this.#chunks(listing, [chunkKeyBefore(to)])
      const close = chunk && closeIn(chunk.rows, chunk.resolution, to)
      if (close) return close
      to = chunk?.range.from ?? 0
    }
  }

  /** The hour in which the pool traded last, or the day where hours are not kept for so long. */
  async lastHour(listing: Listing): Promise<TimeRange | undefined> {
    const day = await this.closeBefore(listing, ALL_TIME.to)
    if (!day) return undefined
    const [chunk] = await this.readAll(listing, new Map([[3_600, day]]))
    const hour = chunk && closeIn(chunk.rows, chunk.resolution, day.to)
    return hour && hour.from >= day.from ? hour : day
  }

  /** The pool has other trades than it had: what is on its way may not know of them. */
  markStale(key: string): void {
    const held = this.#pools.get(key)
    if (!held) return
    for (const loading of held.pending.values()) loading.isStale = true
  }

  /** Puts what was read after a change in place of what is held. What was asked for later than that knows it already. */
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

  /** Gives up what is held of a range of seconds. */
  evict(key: string, range: TimeRange): void {
    for (const chunk of this.#pools.get(key)?.chunks.values() ?? []) {
      if (chunk.range.from < range.to && range.from < chunk.range.to) this.#drop(chunk)
    }
  }

  evictAll(): void {
    for (const { pending: loading } of this.#pools.values()) for (const one of loading.values()) one.isStale = true
    for (const chunk of [...this.#byUse]) this.#drop(chunk)
  }

  /** `besides`: what is read along where something has to be read, by the first of that. */
  #chunks(
    listing: Listing,
    places: readonly ChunkKey[],
    besides: (missing: ChunkKey) => readonly ChunkKey[] = () => [],
  ): Chunk[] | Promise<Chunk[]> {
    const key = listingKey(listing.network.name, listing.pool.id)
    const now = performance.now()
    const isMissing = (place: ChunkKey) => !this.#held(key, place, now)
    const missing = places.filter(isMissing)
    const [first] = missing
    if (first) this.#fetch(listing, [...missing, ...besides(first).filter(isMissing)])
    const found = places.map((place) => this.#held(key, place, now))
    const isHeld = found.every((chunk) => !(chunk instanceof Promise))
    return isHeld ? (found as Chunk[]) : Promise.all(found as (Chunk | Promise<Chunk>)[])
  }

  #held(key: string, place: ChunkKey, now: number): Chunk | Promise<Chunk> | undefined {
    const held = this.#pools.get(key)
    const number = chunkNumber(place)
    const chunk = held?.chunks.get(number)
    if (chunk && now - chunk.loadedMs < MAX_AGE_MS) {
      this.#byUse.delete(chunk)
      this.#byUse.add(chunk)
      return chunk
    }
    const loading = held?.pending.get(number)
    return loading?.isStale ? undefined : loading?.load
  }

  /** One question for all of them: of each resolution, ascending, from the first to the last. */
  #fetch(listing: Listing, places: readonly ChunkKey[]): void {
    const ranges = new Map<Resolution, TimeRange>()
    for (const place of places) {
      const { from, to } = chunkRange(place)
      ranges.set(place.resolution, { from: ranges.get(place.resolution)?.from ?? from, to })
    }
    const loaded = this.#load({ listing, ranges, chunks: places.length })
    for (const place of places) {
      const { resolution } = place
      const range = chunkRange(place)
      const load = loaded.then(({ queriedAt, rows }) => {
        return {
          listing,
          resolution,
          range,
          rows: cut(rows(resolution), range),
          queriedAt,
          loadedMs: performance.now(),
        }
      })
      this.#await(chunkNumber(place), listing, load)
    }
  }

  #await(number: number, listing: Listing, load: Promise<Chunk>): void {
    const key = listingKey(listing.network.name, listing.pool.id)
    const held = this.#pools.get(key) ?? { chunks: new Map(), pending: new Map() }
    this.#pools.set(key, held)
    const loading: PendingChunk = {
      isStale: false,
      load: load
        .then((chunk) => {
          // Whoever waits has an answer of just now; the next one asks again.
          if (!loading.isStale) this.#keep(held, number, chunk)
          return chunk
        })
        .finally(() => {
          if (held.pending.get(number) === loading) held.pending.delete(number)
          this.#tidy(key, held)
        }),
    }
    held.pending.set(number, loading)
    // Whoever needs it is told; what was read along may be needed by nobody.
    loading.load.catch(() => undefined)
  }

  #keep(held: PoolChunks, number: number, chunk: Chunk): void {
    const old = held.chunks.get(number)
    if (old) this.#release(old)
    held.chunks.set(number, chunk)
    this.#byUse.add(chunk)
    this.#bytes += chunk.rows.byteLength + CHUNK_BYTES
    this.#shrink()
  }

  #shrink(): void {
    for (const chunk of this.#byUse) {
      if (this.#bytes <= this.#mostBytes) return
      this.#drop(chunk)
    }
  }

  #drop(chunk: Chunk): void {
    const key = listingKey(chunk.listing.network.name, chunk.listing.pool.id)
    const held = this.#pools.get(key)
    held?.chunks.delete(chunkNumber({ resolution: chunk.resolution, from: chunk.range.from }))
    this.#release(chunk)
    if (held) this.#tidy(key, held)
  }

  #release(chunk: Chunk): void {
    if (this.#byUse.delete(chunk)) this.#bytes -= chunk.rows.byteLength + CHUNK_BYTES
  }

  #tidy(key: string, held: PoolChunks): void {
    if (held.chunks.size === 0 && held.pending.size === 0 && this.#pools.get(key) === held) this.#pools.delete(key)
  }
}
