/** Whether an endpoint may be asked: failures in a row make it rest longer and longer, then one request tries it out. */
import type { RetryPolicy } from './retry-policy.ts'

/** While another request tries the endpoint out, the rest look again after this long. */
const PROBE_LOOK_MS = 20

export class CircuitBreaker {
  readonly #policy: RetryPolicy
  #failures = 0
  #restsUntil = 0
  #probing = false
  /** Requests that were under way together fail together: that is one failure. */
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

  /** Every `begin` is followed by `succeeded` or `failed` with what it returned. */
  begin(): number {
    this.#probing = this.#failures > 0
    return this.#epoch
  }

  /** How many failures in a row ended with it. */
  succeeded(epoch: number): number {
    if (epoch !== this.#epoch) return 0
    const failures = this.#failures
    this.#failures = 0
    this.#probing = false
    return failures
  }

  /** How long the endpoint now rests; undefined where the failure was counted already. */
  failed(epoch: number): number | undefined {
    if (epoch !== this.#epoch) return undefined
    const { coolDownMs, maxCoolDownMs, random } = this.#policy
    const full = Math.min(maxCoolDownMs, coolDownMs * 2 ** this.#failures)
    const ms = Math.round(full * (0.5 + random() / 2))
    this.#failures++
    this.#epoch++
    this.#probing = false
    this.#restsUntil = Date.now() + ms
    return ms
  }
}
