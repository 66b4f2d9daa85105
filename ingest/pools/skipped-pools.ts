/** Pools that are skipped: each is free of requests until its entry expires, and the number of entries is bounded. */
import type { SkipReason } from '../model/fact.ts'
import type { PoolId } from '../model/pool.ts'

/** Reading metadata may have failed for a transient reason. The time until the next attempt doubles with each failure. */
const FIRST_MS = 600_000
const MAX_MS = 86_400_000
/** About 20 MB. The oldest entries are dropped first. */
const MAX_SKIPPED = 100_000

type SkippedPool = { reason: SkipReason; ms: number; until: number }

export class SkippedPools {
  readonly #max: number
  readonly #entries = new Map<PoolId, SkippedPool>()

  constructor(max = MAX_SKIPPED) {
    this.#max = max
  }

  get size(): number {
    return this.#entries.size
  }

  get(id: PoolId): SkipReason | undefined {
    return this.#entries.get(id)?.reason
  }

  /** Whether the next attempt is due. */
  isDue(id: PoolId): boolean {
    const entry = this.#entries.get(id)
    return !entry || performance.now() >= entry.until
  }

  /** True where the pool was not skipped before. */
  add(id: PoolId, reason: SkipReason): boolean {
    const before = this.#entries.get(id)
    const isNews = before?.reason !== reason
    const ms = isNews ? FIRST_MS : Math.min(MAX_MS, before.ms * 2)
    this.#entries.delete(id)
    this.#entries.set(id, { reason, ms, until: performance.now() + ms })
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#max) break
      this.#entries.delete(oldest)
    }
    return isNews
  }

  delete(id: PoolId): void {
    this.#entries.delete(id)
  }
}
