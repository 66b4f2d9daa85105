/** Open candles: the buckets that the stream still writes to, in memory. Complete ones are folded without a query. */
import type { BlockContent, UnixSeconds } from '../../ingest/model/message.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { Tick } from '../../ingest/model/tick.ts'
import { addTick, bucketStart, type Candle, fromTick, RESOLUTIONS, type Resolution, resetTo } from './candle.ts'

export type Bucket = { pool: PoolId; resolution: Resolution; start: UnixSeconds; candle: Candle }

/** `emittedTrades`: the trades of the candle when it was last counted or loaded. */
type OpenCandle = Bucket & { isChanged: boolean; emittedTrades: number }

type OpenPool = {
  /** By index of the resolution; an absent one has no ticks, or began at or before `completeAfter`. */
  buckets: (OpenCandle | undefined)[]
  /** Buckets that begin after this second are complete; ticks at or before it may be in no bucket here. */
  completeAfter: UnixSeconds
  lastTick: UnixSeconds
  /** In this fold: the pool's ticks, and the trades added to its emitted candles of all resolutions. */
  folded: number
  gained: number
}

const MAX_POOLS = 20_000
const NO_TICKS = { folded: 0, gained: 0 }

/**
 * Blocks come in the order of the chain, and so of time. A bucket that begins after every stored tick is complete with the ticks folded
 * from then on; any other has to be recomputed by ClickHouse and passed to `load`.
 */
export class OpenCandles {
  readonly #pools = new Map<PoolId, OpenPool>()
  readonly #maxPools: number
  /** `completeAfter` of pools that are not in memory. */
  #completeAfter: UnixSeconds
  /** Up to this second the tables hold ticks that the stream has yet to bring: recomputed candles count them already. */
  #aheadUntil: UnixSeconds

  /** `completeAfter`: no stored tick is later. */
  constructor(completeAfter: UnixSeconds, maxPools = MAX_POOLS) {
    this.#completeAfter = completeAfter
    this.#aheadUntil = completeAfter
    this.#maxPools = maxPools
  }

  /**
   * Passes every bucket that changed to `take`; it is valid during that call alone, because its memory is reused.
   * Returns the pools with an incomplete bucket, whose candles ClickHouse has to recompute. `ticks` counts the ticks added to candles and all
   * ticks of incomplete pools: each counts once in each resolution.
   */
  fold(blocks: readonly BlockContent[], take: (bucket: Bucket) => void): { incomplete: PoolId[]; ticks: number } {
    const changed = new Set<PoolId>()
    const unknown = new Set<PoolId>()
    let counted = 0
    for (const { timestamp, ticks } of blocks) {
      for (const tick of ticks) {
        if (unknown.has(tick.pool)) counted++
        else {
          changed.add(tick.pool)
          if (!this.#add(tick, timestamp, take)) unknown.add(tick.pool)
        }
      }
    }
    for (const id of changed) {
      const pool = this.#pools.get(id)
      if (!pool) continue
      if (unknown.has(id)) {
        counted += pool.folded
        pool.folded = pool.gained = 0
        continue
      }
      // The least recently traded pools come first.
      this.#pools.delete(id)
      this.#pools.set(id, pool)
      for (const bucket of pool.buckets) {
        if (!bucket?.isChanged) continue
        bucket.isChanged = false
        gain(pool, bucket)
        take(bucket)
      }
      counted += pool.gained / RESOLUTIONS.length
      pool.folded = pool.gained = 0
    }
    this.#trim()
    return { incomplete: [...unknown], ticks: counted }
  }

  /** False where a bucket of the tick is incomplete. */
  #add(tick: Tick, timestamp: UnixSeconds, take: (bucket: Bucket) => void): boolean {
    let pool = this.#pools.get(tick.pool)
    if (!pool) {
      pool = { buckets: [], completeAfter: this.#completeAfter, lastTick: timestamp, ...NO_TICKS }
      this.#pools.set(tick.pool, pool)
    }
    pool.lastTick = Math.max(pool.lastTick, timestamp)
    pool.folded++
    // The hottest loop of the fold: by index, and a closed candle's memory is reused, so that it leaves no garbage.
    for (let index = 0; index < RESOLUTIONS.length; index++) {
      const resolution = RESOLUTIONS[index] ?? 1
      const start = bucketStart(timestamp, resolution)
      const open = pool.buckets[index]
      if (open?.start === start) {
        addTick(open.candle, tick)
        open.isChanged = true
      } else if (start <= pool.completeAfter || (open && start < open.start)) {
        return false
      } else if (open) {
        if (open.isChanged) {
          gain(pool, open)
          take(open)
        }
        open.start = start
        open.emittedTrades = 0
        resetTo(open.candle, tick)
        open.isChanged = true
      } else {
        pool.buckets[index] = {
          pool: tick.pool,
          resolution,
          start,
          candle: fromTick(tick),
          isChanged: true,
          emittedTrades: 0,
        }
      }
    }
    return true
  }

  /**
   * Takes recomputed candles of incomplete pools: their buckets that hold `until`, the time of the newest stored tick, where they have trades.
   */
  load(pools: readonly PoolId[], buckets: readonly Bucket[], until: UnixSeconds): void {
    this.invalidate(pools, until)
    if (until <= this.#aheadUntil) return
    for (const bucket of buckets) {
      const open = this.#pools.get(bucket.pool)
      if (open)
        open.buckets[RESOLUTIONS.indexOf(bucket.resolution)] = {
          ...bucket,
          isChanged: false,
          emittedTrades: bucket.candle.trades,
        }
    }
  }

  /** Another writer changed these pools; none of their stored ticks is later than `until`. */
  invalidate(pools: readonly PoolId[], until: UnixSeconds): void {
    for (const id of pools) {
      const { completeAfter, lastTick } = this.#pools.get(id) ?? { completeAfter: this.#completeAfter, lastTick: until }
      this.#pools.set(id, {
        buckets: [],
        completeAfter: Math.max(completeAfter, until, this.#aheadUntil),
        lastTick,
        ...NO_TICKS,
      })
    }
  }

  /** After a failure or a rebuild: any bucket may differ from the tables; no stored tick is later than `until`. */
  invalidateAll(until: UnixSeconds): void {
    this.#pools.clear()
    this.#completeAfter = Math.max(this.#completeAfter, until)
  }

  /** The tables hold, or will hold, ticks up to `until` that the stream may not have brought yet. */
  setAheadUntil(until: UnixSeconds): void {
    this.#aheadUntil = Math.max(this.#aheadUntil, until)
  }

  #trim(): void {
    for (const [id, { lastTick, completeAfter }] of this.#pools) {
      if (this.#pools.size <= this.#maxPools) return
      this.#pools.delete(id)
      this.#completeAfter = Math.max(this.#completeAfter, lastTick, completeAfter)
    }
  }
}

function gain(pool: OpenPool, bucket: OpenCandle): void {
  pool.gained += bucket.candle.trades - bucket.emittedTrades
  bucket.emittedTrades = bucket.candle.trades
}
