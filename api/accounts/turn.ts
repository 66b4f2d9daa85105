/** What a question costs beyond what is known beforehand must not be spent several times over: near a limit a key's questions run one by one. */

import { overloaded } from '../lib/concurrency-limit.ts'
import type { Meter } from './credits.ts'

/** Candles of a million swaps: no question is taken to cost more beyond what is known of it. */
const MAX_UNFORESEEN = 1_000
const MAX_WAITING = 1_024

/** `room`: credits that are neither used nor set aside. Questions run beside each other while it covers all of them. */
export async function queueNearLimit<Answer>(
  meter: Meter,
  room: () => number,
  question: () => Promise<Answer>,
): Promise<Answer> {
  const mayRun = () => meter.running === 0 || room() >= MAX_UNFORESEEN * (meter.running + 1)
  if (mayRun() && meter.waiting.length === 0) meter.running += 1
  else {
    if (meter.waiting.length >= MAX_WAITING) throw overloaded()
    await new Promise<void>((resolve) => meter.waiting.push(resolve))
  }
  try {
    return await question()
  } finally {
    meter.running -= 1
    while (meter.waiting.length > 0 && mayRun()) {
      meter.running += 1
      meter.waiting.shift()?.()
    }
  }
}
