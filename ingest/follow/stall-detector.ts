/** Detects that appended messages are not stored: then they are appended again, from the stored tip on. */
import { type BlockRef, type Message, tipOf } from '../model/message.ts'
import type { StoredChain } from '../model/stored-chain.ts'

/** The stored tip, and how many messages were appended while it stayed behind them. */
export type Stall = { tip: BlockRef | undefined; appended: number }

/**
 * A stall is a stored tip that is not the newest appended block, and that is the same at two checks. The time until the next stall at the
 * same tip doubles: a stopped reader needs no second copy, and all copies together stay near twice the first append.
 */
export class StallDetector {
  readonly #stored: StoredChain
  readonly #lookMs: number
  readonly #now: () => number
  #checkedAt: number
  #waitMs: number
  #last: BlockRef | undefined
  #appended = 0
  /** The tip that was behind, and since when. */
  #behind: { tip: BlockRef | undefined; since: number } | undefined
  #stalledAt: { tip: BlockRef | undefined } | undefined

  constructor(stored: StoredChain, lookMs: number, now: () => number = () => performance.now()) {
    this.#stored = stored
    this.#lookMs = lookMs
    this.#now = now
    this.#checkedAt = now()
    this.#waitMs = lookMs
  }

  /** Call it after each append, and after polls without new blocks. */
  async look(messages: readonly Message[]): Promise<Stall | undefined> {
    const newest = messages.at(-1)
    if (newest) this.#last = tipOf(newest)
    this.#appended += messages.length
    const now = this.#now()
    if (this.#last === undefined || now - this.#checkedAt < this.#lookMs) return undefined
    this.#checkedAt = now
    // A failed read says nothing about the tip.
    const answer = await this.#stored.tip().then(
      (tip) => ({ tip }),
      () => undefined,
    )
    if (!answer) return undefined
    const { tip } = answer
    if (this.#stalledAt && this.#stalledAt.tip?.hash !== tip?.hash) {
      this.#stalledAt = undefined
      this.#waitMs = this.#lookMs
    }
    if (tip?.hash === this.#last.hash) {
      this.#behind = undefined
      this.#appended = 0
      return undefined
    }
    if (!this.#behind || this.#behind.tip?.hash !== tip?.hash) {
      this.#behind = { tip, since: now }
      return undefined
    }
    if (now - this.#behind.since < this.#waitMs) return undefined
    const stall = { tip, appended: this.#appended }
    this.#stalledAt = { tip }
    this.#waitMs *= 2
    this.#behind = undefined
    this.#last = undefined
    this.#appended = 0
    return stall
  }
}
