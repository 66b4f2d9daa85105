/** How long an endpoint is let alone, and what is remembered of it. */

export type RetryPolicy = {
  /** After the first failure; doubled with each further one. */
  coolDownMs: number
  maxCoolDownMs: number
  /** After a 429 that does not say how long; doubled with each further one. */
  rateLimitMs: number
  /** Requests a second below which the first 429 does not bring the rate. */
  minPerSecond: number
  /** A cap on ranges is believed for this long, then a wider range is tried again. */
  capMs: number
  /** An endpoint that was behind is asked last for this long. */
  behindMs: number
  /** How often the endpoints' heads are compared. */
  compareMs: number
  /** From 0 up to 1: spreads the waits, so that many listeners do not come back at once. */
  random(): number
}

export const RETRY_POLICY: RetryPolicy = {
  coolDownMs: 500,
  maxCoolDownMs: 60_000,
  rateLimitMs: 1_000,
  minPerSecond: 20,
  capMs: 600_000,
  behindMs: 30_000,
  compareMs: 15_000,
  random: Math.random,
}
