/** Detects that a rewind removed stored blocks: blocks above them do not connect any more, and the listener resumes at the stored tip. */
import type { StoredChain } from '../model/stored-chain.ts'

const LOOK_MS = 1_000

export class RewindDetector {
  readonly #stored: StoredChain
  #checkedAt = Number.NEGATIVE_INFINITY
  #newest: number | undefined

  constructor(stored: StoredChain) {
    this.#stored = stored
  }

  /** Call it before the stored tip is read: rewinds until then are not reported. */
  async begin(): Promise<void> {
    this.#checkedAt = Number.NEGATIVE_INFINITY
    await this.isRewound()
  }

  /** Whether there was a rewind since the last call. At most one read a second; a failed read says nothing. */
  async isRewound(): Promise<boolean> {
    const now = performance.now()
    if (!this.#stored.newestRewind || now - this.#checkedAt < LOOK_MS) return false
    this.#checkedAt = now
    const newest = await this.#stored.newestRewind().catch(() => undefined)
    if (newest === undefined) return false
    const known = this.#newest
    this.#newest = newest
    return known !== undefined && newest > known
  }
}
