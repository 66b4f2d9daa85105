/** Circuit breaker of one endpoint: failures in a row open it for a growing time, then a single request probes the endpoint. */
import type { RetryPolicy } from './retry-policy.ts'

/** How long other requests wait while a probe is under way. */
const PROBE_LOOK_MS = 20

export class CircuitBreaker {
  readonly #policy: RetryPolicy
  #failures = 0
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

  waitMs(now = Date.now()): number {
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

  /** Milliseconds until the next probe, at most `mostMs`; undefined where the failure was already counted. */
  failed(epoch: number, mostMs = Number.POSITIVE_INFINITY): number | undefined {
    if (epoch !== this.#epoch) return undefined
    const { coolDownMs, maxCoolDownMs, random } = this.#policy
    const full = Math.min(mostMs, maxCoolDownMs, coolDownMs * 2 ** this.#failures)
    const ms = Math.round(full * (0.5 + random() / 2))
    this.#failures++
    this.#epoch++
    this.#probing = false
    this.#restsUntil = Date.now() + ms
    return ms
  }
}
