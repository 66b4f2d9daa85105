/** Near a limit the queries of a key run one by one: their cost is known only after they ran, and concurrent ones could overspend together. */
import { overloaded } from '../lib/concurrency-limit.ts'
import type { Meter } from './credits.ts'

/** Upper bound of a cost beyond its known part: candles of a million swaps. */
const MAX_UNKNOWN_COST = 1_000
const MAX_WAITING = 1_024

/** `freeCredits`: neither used nor reserved. Queries run concurrently while these cover the upper bound of each. */
export async function queueNearLimit<Answer>(
  meter: Meter,
  freeCredits: () => number,
  query: () => Promise<Answer>,
): Promise<Answer> {
  const mayRun = () => meter.running === 0 || freeCredits() >= MAX_UNKNOWN_COST * (meter.running + 1)
  if (mayRun() && meter.waiting.length === 0) meter.running += 1
  else {
    if (meter.waiting.length >= MAX_WAITING) throw overloaded()
    await new Promise<void>((resolve) => meter.waiting.push(resolve))
  }
  try {
    return await query()
  } finally {
    meter.running -= 1
    while (meter.waiting.length > 0 && mayRun()) {
      meter.running += 1
      meter.waiting.shift()?.()
    }
  }
}
