/// <reference lib="dom" />
/** The budget of one key: read anew every while, since other pages and programs spend from it too. */
import { showCredits } from './account.ts'
import { type Budget, pauseMs, renewed, spent } from './budget.ts'
import type { Ask } from './client.ts'

const READ_EVERY_MS = 10_000

export type Purse = {
  /** True where the last reading is old, or its minute is over. */
  isStale(): boolean
  read(signal: AbortSignal): Promise<void>
  /** What a live question has cost. */
  spend(credits: number): void
  /** How long to wait after a question, or undefined where the minute has no credits left for live ones. */
  pauseMs(cost: number): number | undefined
  left(): number
  ends(): Date
}

export function openPurse(ask: Ask): Purse {
  let budget: Budget = { resetAt: '', ends: 0, left: 0 }
  let readAt = Number.NEGATIVE_INFINITY
  return {
    isStale: () => performance.now() - readAt > READ_EVERY_MS || Date.now() >= budget.ends,
    async read(signal) {
      const { body } = await ask('usage', {}, signal)
      readAt = performance.now()
      budget = renewed(budget, body.credits.minute, Date.now())
      showCredits(body.credits)
    },
    spend(credits) {
      budget = spent(budget, credits)
    },
    pauseMs: (cost) => pauseMs(budget, cost, Date.now()),
    left: () => budget.left,
    ends: () => new Date(budget.ends),
  }
}
