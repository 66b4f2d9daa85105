/**
 * Rate limiter: a number of requests in any second. That of an endpoint adapts to its refusals and is unlimited until the first 429; that
 * of a network's budget has a fixed number.
 */
import type { RetryPolicy } from '../retry-policy.ts'

const SECOND_MS = 1_000
const SLOW_DOWN = 0.7
/** Growth per second: a limit is reached again after about seven seconds. */
const RECOVERY = 1.05
/** A rate above this is no limit. */
const UNLIMITED_PER_SECOND = 1_000
/** Longest pause after a stated `Retry-After`: the account's limit may have been raised meanwhile. */
const MAX_PAUSE_MS = 3_600_000

/** Requests of live following are sent before those of `history`: backfills and audits. */
export type Priority = 'live' | 'history'

export class RateLimiter {
  readonly #policy: RetryPolicy
  #perSecond: number
  #pausedUntil = 0
  #slowedAt = 0
  #grownAt = 0
  #refusals = 0
  /** Send times of the last second. */
  #sent: number[] = []
  #historySentAt = Number.NEGATIVE_INFINITY
  readonly #waiting: Record<Priority, ((now: number) => void)[]> = { live: [], history: [] }
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(policy: RetryPolicy, perSecond = Number.POSITIVE_INFINITY) {
    this.#policy = policy
    this.#perSecond = perSecond
  }

  get perSecond(): number {
    return this.#perSecond
  }

  waitMs(now = performance.now()): number {
    return Math.max(0, Math.ceil(this.#pausedUntil - now))
  }

  /** Resolves with the send time when a request may be sent. Requests queue, those of live following first; none is dropped. */
  take(signal: AbortSignal, priority: Priority = 'live'): Promise<number> {
    return new Promise((resolve) => {
      const queue = this.#waiting[priority]
      const send = (now: number) => {
        signal.removeEventListener('abort', giveUp)
        this.#sent.push(now)
        if (priority === 'history') this.#historySentAt = now
        resolve(now)
      }
      const giveUp = () => {
        queue.splice(queue.indexOf(send), 1)
        send(performance.now())
      }
      if (signal.aborted) return send(performance.now())
      queue.push(send)
      signal.addEventListener('abort', giveUp, { once: true })
      this.#sendWaiting()
    })
  }

  /** One timer serves all: thousands of headers may wait at once. */
  #sendWaiting(): void {
    clearTimeout(this.#timer)
    const { live, history } = this.#waiting
    for (;;) {
      const [queue, spacingMs] = live.length > 0 ? [live, 0] : [history, SECOND_MS / this.#perSecond]
      if (queue.length === 0) return
      const now = performance.now()
      // Spaced evenly: after a burst of history a live request would wait for up to a second.
      const at = Math.max(this.#freeAt(now), spacingMs > 0 ? this.#historySentAt + spacingMs : 0)
      if (at > now) {
        this.#timer = setTimeout(() => this.#sendWaiting(), at - now)
        return
      }
      queue.shift()?.(now)
    }
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
    const now = performance.now()
    this.#perSecond *= RECOVERY ** (Math.max(0, now - this.#grownAt) / SECOND_MS)
    this.#grownAt = Math.max(now, this.#grownAt)
    if (this.#perSecond > UNLIMITED_PER_SECOND) this.#perSecond = Number.POSITIVE_INFINITY
  }

  /** A request sent at `sentAt` was refused. Refusals of requests from before the last slow-down are ignored. */
  refused(sentAt: number, retryAfterMs: number | undefined): void {
    const now = performance.now()
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
    this.#pausedUntil = Math.min(performance.now() + MAX_PAUSE_MS, Math.max(this.#pausedUntil, Math.ceil(time)))
  }
}
