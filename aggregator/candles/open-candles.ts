/** The buckets that the stream still writes to, held in memory: where they are known whole, appending folds ticks without asking the tables. */
import type { BlockContent, UnixSeconds } from '../../ingest/model/message.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { Tick } from '../../ingest/model/tick.ts'
import { addTick, bucketStart, type Candle, fromTick, RESOLUTIONS, type Resolution, resetTo } from './candle.ts'

export type Bucket = { pool: PoolId; resolution: Resolution; start: UnixSeconds; candle: Candle }

type OpenCandle = Bucket & { isChanged: boolean }

type OpenPool = {
  /** By index of the resolution; what is missing has no ticks, or began at or before `completeAfter`. */
  buckets: (OpenCandle | undefined)[]
  /** Ticks at or before this are in the tables, and may be in no bucket here. */
  completeAfter: UnixSeconds
  lastTick: UnixSeconds
}

const MAX_POOLS = 20_000

/**
 * Blocks come in the order of the chain, and so in the order of time. A bucket that begins after everything stored has only the ticks
 * that are seen from then on; any other has to be shown by `remember` once the tables have made it anew.
 */
export class OpenCandles {
  readonly #pools = new Map<PoolId, OpenPool>()
  readonly #maxPools: number
  /** As `completeAfter`, for pools that are not here. */
  #completeAfter: UnixSeconds
  /** Up to here the tables hold ticks that the stream has yet to bring: what they say of open buckets runs ahead of it. */
  #aheadUntil: UnixSeconds

  /** `completeAfter`: no stored tick is later. */
  constructor(completeAfter: UnixSeconds, maxPools = MAX_POOLS) {
    this.#completeAfter = completeAfter
    this.#aheadUntil = completeAfter
    this.#maxPools = maxPools
  }

  /**
   * Shows `take` every bucket that changed, whole, as long as the call lasts: what it holds is written over later.
   * Gives the pools that memory does not know enough of, whose buckets the tables have to make anew.
   */
  fold(blocks: readonly BlockContent[], take: (bucket: Bucket) => void): PoolId[] {
    const changed = new Set<PoolId>()
    const unknown = new Set<PoolId>()
    for (const { timestamp, ticks } of blocks) {
      for (const tick of ticks) {
        if (unknown.has(tick.pool)) continue
        changed.add(tick.pool)
        if (!this.#add(tick, timestamp, take)) unknown.add(tick.pool)
      }
    }
    for (const id of changed) {
      const pool = this.#pools.get(id)
      if (!pool || unknown.has(id)) continue
      // The least recently traded pools come first.
      this.#pools.delete(id)
      this.#pools.set(id, pool)
      for (const bucket of pool.buckets) {
        if (!bucket?.isChanged) continue
        bucket.isChanged = false
        take(bucket)
      }
    }
    this.#trim()
    return [...unknown]
  }

  /** False where a bucket of the tick is not known whole. */
  #add(tick: Tick, timestamp: UnixSeconds, take: (bucket: Bucket) => void): boolean {
    let pool = this.#pools.get(tick.pool)
    if (!pool) {
      pool = { buckets: [], completeAfter: this.#completeAfter, lastTick: timestamp }
      this.#pools.set(tick.pool, pool)
    }
    pool.lastTick = Math.max(pool.lastTick, timestamp)
    // By index, and in the candle that closed: nothing else is done as often, and what is left behind has to be collected.
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
        if (open.isChanged) take(open)
        open.start = start
        resetTo(open.candle, tick)
        open.isChanged = true
      } else {
        pool.buckets[index] = { pool: tick.pool, resolution, start, candle: fromTick(tick), isChanged: true }
      }
    }
    return true
  }

  /**
   * What the tables made of pools that were unknown, up to and with the newest stored tick at `until`: their buckets that hold `until`,
   * where they have trades.
   */
  load(pools: readonly PoolId[], buckets: readonly Bucket[], until: UnixSeconds): void {
    this.invalidate(pools, until)
    if (until <= this.#aheadUntil) return
    for (const bucket of buckets) {
      const open = this.#pools.get(bucket.pool)
      if (open) open.buckets[RESOLUTIONS.indexOf(bucket.resolution)] = { ...bucket, isChanged: false }
    }
  }

  /** The tables changed these pools behind the stream's back; no tick of theirs is stored that is later than `until`. */
  invalidate(pools: readonly PoolId[], until: UnixSeconds): void {
    for (const id of pools) {
      const { completeAfter, lastTick } = this.#pools.get(id) ?? { completeAfter: this.#completeAfter, lastTick: until }
      this.#pools.set(id, { buckets: [], completeAfter: Math.max(completeAfter, until, this.#aheadUntil), lastTick })
    }
  }

  /** Whether something was stored is not known any more, but nothing later than `until` was. */
  invalidateAll(until: UnixSeconds): void {
    this.#pools.clear()
    this.#completeAfter = Math.max(this.#completeAfter, until)
  }

  /** The tables hold, or are about to hold, ticks up to `until` that the stream may not have brought yet. */
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
