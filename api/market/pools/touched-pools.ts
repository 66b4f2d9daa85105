/** The pools of a network that writes touched, the newest last: what was read of them before may be old. */
import type { PoolId } from '../../../ingest/model/pool.ts'

/** A busy network touches as many in some minutes. */
const MAX_POOLS = 5_000

export class TouchedPools {
  #pools: PoolId[] = []
  /** The place of the first one that is kept. */
  #first = 0

  /** The place of the next one. */
  get end(): number {
    return this.#first + this.#pools.length
  }

  /** Without pools: any may have changed. */
  add(pools: Iterable<PoolId> | undefined): void {
    if (pools === undefined) {
      this.#first = this.end + 1
      this.#pools = []
      return
    }
    for (const pool of pools) this.#pools.push(pool)
    const over = this.#pools.length - MAX_POOLS
    // Half of them at once, so that most additions copy nothing.
    if (over <= 0) return
    const dropped = Math.max(over, MAX_POOLS / 2)
    this.#pools = this.#pools.slice(dropped)
    this.#first += dropped
  }

  /** `areAll`: false where others were touched since that place, too. */
  since(place: number): { pools: readonly PoolId[]; areAll: boolean } {
    return { pools: this.#pools.slice(Math.max(0, place - this.#first)), areAll: place >= this.#first }
  }
}
