/** The pools that were decided not to be read: each costs nothing until it is forgotten, and the memory of them is bounded. */
import type { SkipReason } from '../model/fact.ts'
import type { PoolId } from '../model/pool.ts'

/** A reading of metadata may have failed for a reason that is gone by then. Each time it fails again it is left for twice as long. */
const FIRST_MS = 600_000
const MAX_MS = 86_400_000
/** About 20 MB. The oldest are forgotten first. */
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

  /** Whether it has to be decided again. */
  isDue(id: PoolId): boolean {
    const entry = this.#entries.get(id)
    return !entry || Date.now() >= entry.until
  }

  /** True where that is news. */
  add(id: PoolId, reason: SkipReason): boolean {
    const before = this.#entries.get(id)
    const isNews = before?.reason !== reason
    const ms = isNews ? FIRST_MS : Math.min(MAX_MS, before.ms * 2)
    this.#entries.delete(id)
    this.#entries.set(id, { reason, ms, until: Date.now() + ms })
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
