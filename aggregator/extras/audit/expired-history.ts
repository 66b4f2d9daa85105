/** Blocks that no endpoint has any more: other blocks do not wait for them. */
import { isPruned } from '../../../ingest/rpc/rpc-error.ts'

export class ExpiredHistory {
  readonly #againMs: number
  readonly #onExpired: (error: unknown) => void
  /** The newest such block, and when it was requested. */
  #block = -1
  #sinceMs = Number.NEGATIVE_INFINITY

  /** They are requested again after `againMs`; `onExpired` is called once for each request. */
  constructor(againMs: number, onExpired: (error: unknown) => void) {
    this.#againMs = againMs
    this.#onExpired = onExpired
  }

  /** Resolves to false where no endpoint has block `from`; other failures are thrown. */
  async attempt(from: number, task: () => Promise<void>): Promise<boolean> {
    if (from <= this.#block && performance.now() - this.#sinceMs < this.#againMs) return false
    try {
      await task()
      return true
    } catch (error) {
      if (!isPruned(error)) throw error
      this.#block = Math.max(this.#block, from)
      this.#sinceMs = performance.now()
      this.#onExpired(error)
      return false
    }
  }
}
