/** The rate that an endpoint bears, learnt from its refusals: unlimited until the first 429, then a token bucket. */
import type { Patience } from './patience.ts'
import { pause } from './wait.ts'

/** Tokens that an idle bucket holds, in time. */
const BURST_MS = 1_000
const SLOW_DOWN = 0.7
/** With each answer: 10/s are 15/s after some twenty answers. */
const RECOVERY = 1.02
/** A rate above this is no limit. */
const UNLIMITED_PER_SECOND = 1_000
const MAX_PAUSE_MS = 300_000

export class Rate {
  readonly #patience: Patience
  #perSecond = Number.POSITIVE_INFINITY
  /** When the next token is there. */
  #nextAt = 0
  #pausedUntil = 0
  #slowedAt = 0
  #refusals = 0
  /** Requests of the last second, to know what was too much. */
  #sent: number[] = []

  constructor(patience: Patience) {
    this.#patience = patience
  }

  get perSecond(): number {
    return this.#perSecond
  }

  waitMs(now = Date.now()): number {
    return Math.max(0, this.#pausedUntil - now)
  }

  /** Resolves when a request may be sent, with a mark of its time; requests wait in line, none is dropped. */
  async take(signal: AbortSignal): Promise<number> {
    while (!signal.aborted) {
      const now = Date.now()
      if (this.#pausedUntil > now) {
        await pause(this.#pausedUntil - now, signal)
        continue
      }
      if (this.#perSecond === Number.POSITIVE_INFINITY) break
      const at = Math.max(this.#nextAt, now - BURST_MS)
      this.#nextAt = at + 1_000 / this.#perSecond
      if (at > now) await pause(at - now, signal)
      if (this.#pausedUntil <= Date.now()) break
    }
    const now = Date.now()
    this.#sent.push(now)
    while ((this.#sent[0] ?? now) < now - 1_000) this.#sent.shift()
    return now
  }

  answered(): void {
    if (this.#perSecond === Number.POSITIVE_INFINITY) return
    this.#refusals = 0
    this.#perSecond *= RECOVERY
    if (this.#perSecond > UNLIMITED_PER_SECOND) this.#perSecond = Number.POSITIVE_INFINITY
  }

  /** A request sent at `sentAt` was refused. Those sent before the last slowing down say nothing new. */
  refused(sentAt: number, retryAfterMs: number | undefined): void {
    const now = Date.now()
    const { rateLimitMs, maxCoolDownMs, firstPerSecond, random } = this.#patience
    if (sentAt < this.#slowedAt) {
      if (retryAfterMs !== undefined) this.#pauseUntil(now + retryAfterMs)
      return
    }
    // One 429 after a quiet second says little of the rate; the next ones will.
    const tried =
      this.#perSecond === Number.POSITIVE_INFINITY ? Math.max(this.#sent.length, firstPerSecond) : this.#perSecond
    this.#perSecond = Math.max(1, tried * SLOW_DOWN)
    this.#nextAt = 0
    this.#slowedAt = now + 1
    const backOff = Math.min(maxCoolDownMs, rateLimitMs * 2 ** Math.min(5, this.#refusals++)) * (0.5 + random() / 2)
    this.#pauseUntil(now + (retryAfterMs ?? backOff))
  }

  #pauseUntil(time: number): void {
    this.#pausedUntil = Math.min(Date.now() + MAX_PAUSE_MS, Math.max(this.#pausedUntil, Math.ceil(time)))
  }
}
