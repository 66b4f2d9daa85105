/// <reference lib="dom" />
/** The budget of one key: read again every while, since other pages and programs spend from it too. */

import type { QueryApi } from '../lib/client.ts'
import { showCredits } from './account.ts'
import { type Budget, pauseMs, renewed, spent } from './budget.ts'

const READ_EVERY_MS = 10_000

export type CreditBudget = {
  /** True where the last reading is old, or its minute is over. */
  isStale(): boolean
  read(signal: AbortSignal): Promise<void>
  /** What a live question has cost. */
  spend(credits: number): void
  /** How long to wait for the next question of such a cost, or undefined where the minute or the month has no credits for it. */
  pauseMs(cost: number): number | undefined
  /** In this minute. */
  left(): number
  /** When the minute ends. */
  ends(): Date
}

export function openCreditBudget(ask: QueryApi): CreditBudget {
  let budget: Budget | undefined
  let readAt = Number.NEGATIVE_INFINITY
  return {
    isStale: () => performance.now() - readAt > READ_EVERY_MS || Date.now() >= (budget?.minute.ends ?? 0),
    async read(signal) {
      const { body } = await ask('usage', {}, signal)
      readAt = performance.now()
      budget = renewed(budget, body.credits, Date.now())
      showCredits(body.credits)
    },
    spend(credits) {
      if (budget) budget = spent(budget, credits)
    },
    pauseMs: (cost) => budget && pauseMs(budget, cost, Date.now()),
    left: () => budget?.minute.left ?? 0,
    ends: () => new Date(budget?.minute.ends ?? 0),
  }
}
