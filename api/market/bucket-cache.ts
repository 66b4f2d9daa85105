/** Stored candles held in memory, in chunks: what was asked lately is answered without the store. */
import type { ClickHouseClient } from '@clickhouse/client'
import { RESOLUTIONS, type Resolution } from '../../aggregator/candle.ts'
import { bucketOf } from '../interval.ts'
import { ask, askBytes, readSql } from '../store.ts'
import { type BucketRows, type Close, cut, replaced, rowsFrom } from './bucket-rows.ts'
import { type Listing, listingKey } from './listing.ts'
import { clampTime, type Range, windowsOf } from './windows.ts'

const BUCKETS = readSql(new URL('./buckets.sql', import.meta.url))
const PREVIOUS = readSql(new URL('./previous-close.sql', import.meta.url))

/** How much time a chunk holds: a question for 100 candles needs a few of them. */
const CHUNK_SECONDS: Readonly<Record<Resolution, number>> = {
  1: 3_600,
  60: 86_400,
  3600: 30 * 86_400,
  86400: 4_000 * 86_400,
}
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
  /** What traded last before the chunk; undefined where it is not known, null where nothing did. */
  before: Close | null | undefined
  /** Goes up when `before` may have changed. */
  beforeVersion: number
  /** When the rows were asked for, on the cache's own clock. */
  askedAt: number
  loadedMs: number
}

/** What was read of a pool's buckets after it had changed. */
export type Refresh = { key: string; resolution: Resolution; range: Range; rows: BucketRows; askedAt: number }

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
    const first = bucketOf(range.from, width)
    if (range.to - first > MOST_CHUNKS * width) return undefined
    const key = listingKey(listing.network.name, listing.pool.id)
    const found: (Chunk | Promise<Chunk>)[] = []
    let isHeld = true
    for (let from = first; from < range.to; from += width) {
      const chunk =
        this.#held(key, resolution, from) ?? this.#load(key, listing, resolution, { from, to: from + width })
      if (chunk instanceof Promise) isHeld = false
      found.push(chunk)
    }
    this.#onRead(isHeld)
    return isHeld ? (found as Chunk[]) : Promise.all(found)
  }

  /** What traded last before a chunk. */
  async closeBefore(chunk: Chunk): Promise<Close | null> {
    if (chunk.before !== undefined) return chunk.before
    const version = chunk.beforeVersion
    const row = await readClose(this.#reader, chunk.listing, chunk.range.from)
    if (chunk.beforeVersion === version) chunk.before = row
    return row
  }

  /** The pool has other trades from this second on than it had: what is on its way may not know of them. */
  change(key: string, from: number): void {
    const held = this.#pools.get(key)
    if (!held) return
    for (const loading of held.loading.values()) loading.isOld = true
    for (const chunk of held.chunks.values()) {
      if (chunk.range.from <= from) continue
      chunk.before = undefined
      chunk.beforeVersion++
    }
  }

  /** Puts what was read after a change in place of what is held. What was asked for later than that knows it already. */
  apply({ key, resolution, range, rows, askedAt }: Refresh): void {
    for (const chunk of this.#pools.get(key)?.chunks.values() ?? []) {
      const within = { from: Math.max(range.from, chunk.range.from), to: Math.min(range.to, chunk.range.to) }
      if (chunk.resolution !== resolution || within.from >= within.to || chunk.askedAt > askedAt) continue
      this.#bytes -= chunk.rows.byteLength
      chunk.rows = replaced(chunk.rows, within, cut(rows, within))
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

  #held(key: string, resolution: Resolution, from: number): Chunk | Promise<Chunk> | undefined {
    const held = this.#pools.get(key)
    const place = placeOf(resolution, from)
    const chunk = held?.chunks.get(place)
    if (chunk && performance.now() - chunk.loadedMs < OLDEST_MS) {
      this.#byUse.delete(chunk)
      this.#byUse.add(chunk)
      return chunk
    }
    const loading = held?.loading.get(place)
    return loading?.isOld ? undefined : loading?.load
  }

  #load(key: string, listing: Listing, resolution: Resolution, range: Range): Promise<Chunk> {
    const place = placeOf(resolution, range.from)
    const held = this.#pools.get(key) ?? { chunks: new Map(), loading: new Map() }
    this.#pools.set(key, held)
    const askedAt = this.tick()
    const { network, pool } = listing
    const parameters = { network: network.name, pool: pool.id, resolution, from: range.from, to: clampTime(range.to) }
    const loading: Loading = {
      isOld: false,
      load: askBytes(this.#reader, BUCKETS, parameters)
        .then((bytes) => {
          const rows = rowsFrom(bytes)
          const loadedMs = performance.now()
          const chunk: Chunk = {
            listing,
            resolution,
            range,
            rows,
            before: undefined,
            beforeVersion: 0,
            askedAt,
            loadedMs,
          }
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
    return loading.load
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

/** What traded last before a second; null where nothing did. */
export async function readClose(reader: ClickHouseClient, listing: Listing, before: number): Promise<Close | null> {
  const { network, pool } = listing
  const windows = windowsOf({ from: 0, to: before })
  const [row] = await ask<Close>(reader, PREVIOUS, { network: network.name, pool: pool.id, ...windows })
  return row ?? null
}

/** A number for each chunk of a pool: seconds since 1970 leave room for it. */
function placeOf(resolution: Resolution, from: number): Place {
  return from * RESOLUTIONS.length + RESOLUTIONS.indexOf(resolution)
}
