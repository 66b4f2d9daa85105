/** Stored candles held in memory, in chunks: what was asked lately is answered without the store. */
import type { ClickHouseClient } from '@clickhouse/client'
import { RESOLUTIONS, type Resolution } from '../../aggregator/candle.ts'
import { bucketOf } from '../interval.ts'
import { askBytes, readSql } from '../store.ts'
import { type BucketRows, type Close, closeIn, cut, merged, rowsFrom } from './bucket-rows.ts'
import { type Listing, listingKey } from './listing.ts'
import { clampTime, type Range, resolutionOf } from './windows.ts'

const BUCKETS = readSql(new URL('./buckets.sql', import.meta.url))

const HOUR = 3_600
const DAY = 24 * HOUR
/** More than the store can count. */
const ALL_TIME = 50_000 * DAY
/** How much time a chunk holds: a question for 100 candles needs a few of them. */
const CHUNK_SECONDS: Readonly<Record<Resolution, number>> = { 1: HOUR, 60: DAY, 3600: 30 * DAY, 86400: ALL_TIME }
/** Wider questions are rare, and would drive out what everybody else asks for. */
const MOST_CHUNKS = 48
/** Whatever nobody tells of is seen at the latest after this. */
const OLDEST_MS = 10 * 60_000
/** What a chunk weighs besides its rows. */
const CHUNK_BYTES = 600

export type Chunk = {
  listing: Listing
  resolution: Resolution
  /** `from ≤ time < to` */
  range: Range
  rows: BucketRows
  /** When the rows were asked for, on the cache's own clock. */
  askedAt: number
  loadedMs: number
}

/** Buckets of a pool that have changed; those that lost their trades as well. */
type Refresh = { key: string; resolution: Resolution; rows: BucketRows; askedAt: number }

type Loading = { load: Promise<Chunk>; isOld: boolean }
type Place = number
type Held = { chunks: Map<Place, Chunk>; loading: Map<Place, Loading> }

export class BucketCache {
  readonly #reader: ClickHouseClient
  readonly #mostBytes: number
  readonly #onRead: (isHeld: boolean) => void
  readonly #pools = new Map<string, Held>()
  /** The chunk that was not needed for the longest time first. */
  readonly #byUse = new Set<Chunk>()
  #bytes = 0
  #clock = 0

  /** `onRead` hears of each question whether everything was held. */
  constructor(reader: ClickHouseClient, mostBytes: number, onRead: (isHeld: boolean) => void = () => {}) {
    this.#reader = reader
    this.#mostBytes = mostBytes
    this.#onRead = onRead
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Goes up with every question to the store: of two answers, the one that was asked for later knows more. */
  tick(): number {
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
  read(listing: Listing, resolution: Resolution, range: Range): Chunk[] | Promise<Chunk[]> | undefined {
    const width = CHUNK_SECONDS[resolution]
    if (range.to - bucketOf(range.from, width) > MOST_CHUNKS * width) return undefined
    const chunks = this.#chunks(listing, resolution, range)
    this.#onRead(Array.isArray(chunks))
    return chunks
  }

  /** What traded last before a second; undefined where nothing did. */
  async closeBefore(listing: Listing, second: number): Promise<Close | undefined> {
    for (let to = second; to > 0; ) {
      const [chunk] = await this.#chunks(listing, resolutionOf(to), { from: to - 1, to })
      const close = chunk && closeIn(chunk.rows, chunk.resolution, to)
      if (close) return close
      to = chunk?.range.from ?? 0
    }
  }

  /** The pool has other trades than it had: what is on its way may not know of them. */
  change(key: string): void {
    const held = this.#pools.get(key)
    if (!held) return
    for (const loading of held.loading.values()) loading.isOld = true
  }

  /** Puts what was read after a change in place of what is held. What was asked for later than that knows it already. */
  apply({ key, resolution, rows, askedAt }: Refresh): void {
    for (const chunk of this.#pools.get(key)?.chunks.values() ?? []) {
      if (chunk.resolution !== resolution || chunk.askedAt > askedAt) continue
      const fresh = cut(rows, chunk.range)
      if (fresh.byteLength === 0) continue
      this.#bytes -= chunk.rows.byteLength
      chunk.rows = merged(chunk.rows, fresh)
      chunk.askedAt = askedAt
      this.#bytes += chunk.rows.byteLength
    }
    this.#shrink()
  }

  /** Gives up what is held of a range of seconds. */
  forget(key: string, range: Range): void {
    for (const chunk of this.#pools.get(key)?.chunks.values() ?? []) {
      if (chunk.range.from < range.to && range.from < chunk.range.to) this.#drop(chunk)
    }
  }

  forgetAll(): void {
    for (const { loading } of this.#pools.values()) for (const one of loading.values()) one.isOld = true
    for (const chunk of [...this.#byUse]) this.#drop(chunk)
  }

  #chunks(listing: Listing, resolution: Resolution, range: Range): Chunk[] | Promise<Chunk[]> {
    const width = CHUNK_SECONDS[resolution]
    const key = listingKey(listing.network.name, listing.pool.id)
    const now = performance.now()
    const starts: number[] = []
    for (let from = bucketOf(range.from, width); from < range.to; from += width) starts.push(from)
    const missing = starts.filter((from) => !this.#held(key, resolution, from, now))
    if (missing.length > 0) this.#load(listing, resolution, missing)
    const found = starts.map((from) => this.#held(key, resolution, from, now))
    const isHeld = found.every((chunk) => !(chunk instanceof Promise))
    return isHeld ? (found as Chunk[]) : Promise.all(found as (Chunk | Promise<Chunk>)[])
  }

  #held(key: string, resolution: Resolution, from: number, now: number): Chunk | Promise<Chunk> | undefined {
    const held = this.#pools.get(key)
    const place = placeOf(resolution, from)
    const chunk = held?.chunks.get(place)
    if (chunk && now - chunk.loadedMs < OLDEST_MS) {
      this.#byUse.delete(chunk)
      this.#byUse.add(chunk)
      return chunk
    }
    const loading = held?.loading.get(place)
    return loading?.isOld ? undefined : loading?.load
  }

  /** One question for all that is missing, in ascending order. */
  #load(listing: Listing, resolution: Resolution, starts: readonly number[]): void {
    const width = CHUNK_SECONDS[resolution]
    const [first = 0, last = first] = [starts[0], starts.at(-1)]
    const { network, pool } = listing
    const range = { from: first, to: clampTime(last + width) }
    const askedAt = this.tick()
    const asked = askBytes(this.#reader, BUCKETS, { network: network.name, pool: pool.id, resolution, ...range })
    for (const from of starts) {
      const range = { from, to: from + width }
      const load = asked.then((bytes) => {
        const rows = cut(rowsFrom(bytes), range)
        return { listing, resolution, range, rows, askedAt, loadedMs: performance.now() }
      })
      this.#await(placeOf(resolution, from), listing, load)
    }
  }

  #await(place: Place, listing: Listing, load: Promise<Chunk>): void {
    const key = listingKey(listing.network.name, listing.pool.id)
    const held = this.#pools.get(key) ?? { chunks: new Map(), loading: new Map() }
    this.#pools.set(key, held)
    const loading: Loading = {
      isOld: false,
      load: load
        .then((chunk) => {
          // Whoever waits has an answer of just now; the next one asks again.
          if (!loading.isOld) this.#keep(held, place, chunk)
          return chunk
        })
        .finally(() => {
          if (held.loading.get(place) === loading) held.loading.delete(place)
          this.#tidy(key, held)
        }),
    }
    held.loading.set(place, loading)
  }

  #keep(held: Held, place: Place, chunk: Chunk): void {
    const old = held.chunks.get(place)
    if (old) this.#release(old)
    held.chunks.set(place, chunk)
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
    held?.chunks.delete(placeOf(chunk.resolution, chunk.range.from))
    this.#release(chunk)
    if (held) this.#tidy(key, held)
  }

  #release(chunk: Chunk): void {
    if (this.#byUse.delete(chunk)) this.#bytes -= chunk.rows.byteLength + CHUNK_BYTES
  }

  #tidy(key: string, held: Held): void {
    if (held.chunks.size === 0 && held.loading.size === 0 && this.#pools.get(key) === held) this.#pools.delete(key)
  }
}

/** A number for each chunk of a pool: seconds since 1970 leave room for it. */
function placeOf(resolution: Resolution, from: number): Place {
  return from * RESOLUTIONS.length + RESOLUTIONS.indexOf(resolution)
}
