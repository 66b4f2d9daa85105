/** Open candles: the buckets that the stream still writes to, in memory. Complete ones are folded without a query. */
import type { PoolPlaces, SortedTicks } from '../../ingest/columns/sorted-ticks.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { bucketStart, type Candle, merge, RESOLUTIONS, type Resolution } from './candle.ts'
import type { CandleColumns } from './candle-columns.ts'

export type Bucket = { pool: PoolId; resolution: Resolution; start: UnixSeconds; candle: Candle }

type OpenPool = {
  /** By index of the resolution; an absent one has no ticks, or began at or before `completeAfter`. */
  buckets: (Bucket | undefined)[]
  /** Buckets that begin after this second are complete; ticks at or before it may be in no bucket here. */
  completeAfter: UnixSeconds
  lastTick: UnixSeconds
}

const MAX_POOLS = 20_000

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
   * Adds every candle that changed to `out`, in the order of the table. Returns the pools with an incomplete bucket, whose candles ClickHouse has to
   * recompute. `ticks` counts the ticks added to candles and all ticks of incomplete pools: each counts once in each resolution.
   */
  fold(sorted: SortedTicks, out: CandleColumns): { incomplete: PoolId[]; ticks: number } {
    const incomplete: PoolId[] = []
    let counted = 0
    for (const [place, group] of sorted.groups.entries()) {
      const before = out.length
      const added = this.#foldPool(sorted, { ...group, place }, out)
      if (added === undefined) {
        out.cut(before)
        incomplete.push(group.pool)
      }
      counted += added === undefined ? group.to - group.from : added / RESOLUTIONS.length
    }
    this.#trim()
    return { incomplete, ticks: counted }
  }

  /** The trades added to candles of all resolutions; undefined where a bucket is incomplete. */
  #foldPool(sorted: SortedTicks, group: PoolPlaces & { place: number }, out: CandleColumns): number | undefined {
    const { ticks, order } = sorted
    const pool = this.#pools.get(group.pool) ?? {
      buckets: [],
      completeAfter: this.#completeAfter,
      lastTick: 0,
    }
    // The least recently traded pools come first.
    this.#pools.delete(group.pool)
    this.#pools.set(group.pool, pool)
    for (let place = group.from; place < group.to; place++)
      pool.lastTick = Math.max(pool.lastTick, ticks.time[order[place] ?? 0] ?? 0)
    const ends = [out.length]
    for (const resolution of RESOLUTIONS) {
      if (resolution === 1) foldTicks(sorted, group, out)
      else foldFiner(resolution, ends.at(-2) ?? 0, out)
      ends.push(out.length)
    }
    let added = 0
    for (const [index, resolution] of RESOLUTIONS.entries()) {
      const [from = 0, to = 0] = [ends[index], ends[index + 1]]
      const open = pool.buckets[index]
      if (!isComplete(pool.completeAfter, open, out, from, to)) return undefined
      for (let row = from; row < to; row++) added += out.arrays.trades[row] ?? 0
      if (open && open.start === out.arrays.start[from]) out.set(from, merge(open.candle, out.candleAt(from)))
      const start = out.arrays.start[to - 1] ?? 0
      pool.buckets[index] = { start, resolution, pool: group.pool, candle: out.candleAt(to - 1) }
    }
    return added
  }

  /**
   * Takes recomputed candles of incomplete pools: their buckets that hold `until`, the time of the newest stored tick, where they have trades.
   */
  load(pools: readonly PoolId[], buckets: readonly Bucket[], until: UnixSeconds): void {
    this.invalidate(pools, until)
    if (until <= this.#aheadUntil) return
    for (const bucket of buckets) {
      const open = this.#pools.get(bucket.pool)
      if (open) open.buckets[RESOLUTIONS.indexOf(bucket.resolution)] = bucket
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

/** Candles of seconds, a row for each second with ticks. */
function foldTicks(
  { ticks, order }: SortedTicks,
  { place: pool, from, to }: PoolPlaces & { place: number },
  out: CandleColumns,
): void {
  const { time } = ticks
  for (let first = from; first < to; ) {
    const start = time[order[first] ?? 0] ?? 0
    let next = first + 1
    while (next < to && time[order[next] ?? 0] === start) next++
    out.addTicks({ pool, resolution: 1, start }, { ticks, order }, first, next)
    first = next
  }
}

/** Candles of a coarser resolution from all rows from `from` on. */
function foldFiner(resolution: Resolution, from: number, out: CandleColumns): void {
  const to = out.length
  const pool = out.arrays.pool[from] ?? 0
  for (let first = from; first < to; ) {
    const { start: finer } = out.arrays
    const start = bucketStart(finer[first] ?? 0, resolution)
    let next = first + 1
    while (next < to && bucketStart(finer[next] ?? 0, resolution) === start) next++
    out.addRows({ pool, resolution, start }, first, next)
    first = next
  }
}

/** Whether each row, together with the open candle, has all ticks of its bucket. */
function isComplete(
  completeAfter: UnixSeconds,
  open: Bucket | undefined,
  { arrays: { start } }: CandleColumns,
  from: number,
  to: number,
): boolean {
  let before = open?.start
  for (let row = from; row < to; row++) {
    const own = start[row] ?? 0
    if (own !== before && (own <= completeAfter || (before !== undefined && own < before))) return false
    before = own
  }
  return true
}
