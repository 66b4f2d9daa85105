/** Health of one endpoint. Circuit breaker: failures in a row open it for a growing time, then a single request probes the endpoint. */
import type { RetryPolicy } from '../retry-policy.ts'

/** How long other requests wait while a probe is under way. */
const PROBE_LOOK_MS = 20

export class CircuitBreaker {
  readonly #policy: RetryPolicy
  #failures = 0
  /** Answers that no sound node gives, counted until there was none for a while: other answers in between do not end them. */
  #faults = 0
  #faultAt = 0
  #restsUntil = 0
  #probing = false
  /** Concurrent requests that fail together count as one failure: each carries the epoch in which it began. */
  #epoch = 0

  constructor(policy: RetryPolicy) {
    this.#policy = policy
  }

  get failures(): number {
    return this.#failures
  }

  /** Answers that no sound node gives; forgotten where the last one was long ago. */
  get faults(): number {
    return performance.now() - this.#faultAt <= this.#policy.capMs ? this.#faults : 0
  }

  waitMs(now = performance.now()): number {
    if (this.#failures === 0) return 0
    if (now < this.#restsUntil) return this.#restsUntil - now
    return this.#probing ? PROBE_LOOK_MS : 0
  }

  /** Every `begin` is followed by `succeeded` or `failed` with its result. */
  begin(): number {
    this.#probing = this.#failures > 0
    return this.#epoch
  }

  /** Number of failures in a row that this success ended. */
  succeeded(epoch: number): number {
    if (epoch !== this.#epoch) return 0
    const failures = this.#failures
    this.#failures = 0
    this.#probing = false
    return failures
  }

  /** Milliseconds until the next probe, at most `mostMs` but for a fault; undefined where the failure was already counted. */
  failed(epoch: number, { mostMs = Number.POSITIVE_INFINITY, isFault = false } = {}): number | undefined {
    if (epoch !== this.#epoch) return undefined
    const { coolDownMs, maxCoolDownMs, capMs, random } = this.#policy
    const inRow = isFault ? Math.max(this.#failures, this.#faultsBefore(capMs)) : this.#failures
    const full = Math.min(isFault ? Number.POSITIVE_INFINITY : mostMs, maxCoolDownMs, coolDownMs * 2 ** inRow)
    const ms = Math.round(full * (0.5 + random() / 2))
    this.#failures++
    this.#epoch++
    this.#probing = false
    this.#restsUntil = performance.now() + ms
    return ms
  }

  /** Counts a fault; returns those before it. */
  #faultsBefore(forgottenMs: number): number {
    const now = performance.now()
    if (now - this.#faultAt > forgottenMs) this.#faults = 0
    this.#faultAt = now
    return this.#faults++
  }
}

const DELAYS = 5
/** One slow answer says little. */
const MIN_DELAYS = 3

/** How long an endpoint takes to answer its head: the median of the last answers. */
export class HeadDelay {
  #delays: number[] = []

  note(ms: number): void {
    this.#delays = [...this.#delays, ms].slice(-DELAYS)
  }

  /** It was waited for in vain, which live blocks must not be again and again. */
  noteTimeout(): void {
    this.#delays = Array.from({ length: MIN_DELAYS }, () => Number.POSITIVE_INFINITY)
  }

  /** Undefined before the first answers. */
  get medianMs(): number | undefined {
    if (this.#delays.length < MIN_DELAYS) return undefined
    return this.#delays.toSorted((a, b) => a - b)[Math.floor(this.#delays.length / 2)]
  }
}
