/** Rate limiter of one endpoint, adapted to its refusals: unlimited until the first 429, then a number of requests in any second. */

import { pause } from '../lib/wait.ts'
import type { RetryPolicy } from './retry-policy.ts'

const SECOND_MS = 1_000
const SLOW_DOWN = 0.7
/** Growth per second: a limit is reached again after about seven seconds. */
const RECOVERY = 1.05
/** A rate above this is no limit. */
const UNLIMITED_PER_SECOND = 1_000
/** Longest pause after a stated `Retry-After`: the account's limit may have been raised meanwhile. */
const MAX_PAUSE_MS = 3_600_000

export class RateLimiter {
  readonly #policy: RetryPolicy
  #perSecond = Number.POSITIVE_INFINITY
  #pausedUntil = 0
  #slowedAt = 0
  #grownAt = 0
  #refusals = 0
  /** Send times of the last second. */
  #sent: number[] = []

  constructor(policy: RetryPolicy) {
    this.#policy = policy
  }

  get perSecond(): number {
    return this.#perSecond
  }

  waitMs(now = Date.now()): number {
    return Math.max(0, this.#pausedUntil - now)
  }

  /** Resolves with the send time when a request may be sent. Requests queue; none is dropped. */
  async take(signal: AbortSignal): Promise<number> {
    let now = Date.now()
    for (let at = this.#freeAt(now); at > now && !signal.aborted; at = this.#freeAt(now)) {
      await pause(at - now, signal)
      now = Date.now()
    }
    this.#sent.push(now)
    return now
  }

  #freeAt(now: number): number {
    while ((this.#sent[0] ?? now) <= now - SECOND_MS) this.#sent.shift()
    // Rounded down: providers count whole requests.
    const oldest = this.#sent[this.#sent.length - Math.floor(this.#perSecond)] ?? now - SECOND_MS
    return Math.max(this.#pausedUntil, oldest + SECOND_MS)
  }

  answered(): void {
    if (this.#perSecond === Number.POSITIVE_INFINITY) return
    this.#refusals = 0
    const now = Date.now()
    this.#perSecond *= RECOVERY ** (Math.max(0, now - this.#grownAt) / SECOND_MS)
    this.#grownAt = Math.max(now, this.#grownAt)
    if (this.#perSecond > UNLIMITED_PER_SECOND) this.#perSecond = Number.POSITIVE_INFINITY
  }

  /** A request sent at `sentAt` was refused. Refusals of requests from before the last slow-down are ignored. */
  refused(sentAt: number, retryAfterMs: number | undefined): void {
    const now = Date.now()
    const { rateLimitMs, maxCoolDownMs, minPerSecond, random } = this.#policy
    if (sentAt < this.#slowedAt) {
      if (retryAfterMs !== undefined) this.#pauseUntil(now + retryAfterMs)
      return
    }
    // One 429 after a quiet second says little about the rate.
    const tried =
      this.#perSecond === Number.POSITIVE_INFINITY ? Math.max(this.#sent.length, minPerSecond) : this.#perSecond
    this.#perSecond = Math.max(1, tried * SLOW_DOWN)
    this.#slowedAt = now + 1
    const backOff = Math.min(maxCoolDownMs, rateLimitMs * 2 ** Math.min(5, this.#refusals++)) * (0.5 + random() / 2)
    this.#pauseUntil(now + (retryAfterMs ?? backOff))
    this.#grownAt = this.#pausedUntil
  }

  #pauseUntil(time: number): void {
    this.#pausedUntil = Math.min(Date.now() + MAX_PAUSE_MS, Math.max(this.#pausedUntil, Math.ceil(time)))
  }
}
