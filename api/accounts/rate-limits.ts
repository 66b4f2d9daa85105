/** The `RateLimit` headers, and the 429 problem of a key without credits. */
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { Allowance } from '../lib/plan.ts'
import { Problem } from '../lib/problem.ts'
import { type Meter, type Refusal, type Usage, usageOf } from './credits.ts'

export function creditsExceeded(refusal: Refusal, meter: Meter, allowance: Allowance, now: UnixSeconds): Problem {
  const { window, resetAt } = refusal
  const wait = Math.max(1, resetAt - now)
  const usage = usageOf(meter, allowance, now)
  // Credits that are reserved for running queries count as used.
  usage[window].remaining = 0
  return new Problem(
    `${window}_credits_exceeded`,
    `The ${allowance[window]} credits of this ${window} are used up. They come back in ${wait} s; /v0/usage says how many are left.`,
    {
      headers: { 'Retry-After': String(wait), ...rateLimitsOf(usage, now) },
    },
  )
}

export function rateLimitsOf({ minute, month }: Usage, now: UnixSeconds): Record<string, string> {
  return {
    'RateLimit-Policy': `"minute";q=${minute.limit};w=60, "month";q=${month.limit};w=${month.resetAt - month.start}`,
    RateLimit: `"minute";r=${minute.remaining};t=${minute.resetAt - now}, "month";r=${month.remaining};t=${month.resetAt - now}`,
  }
}
