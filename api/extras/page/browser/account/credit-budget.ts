/// <reference lib="dom" />
/** The budget of one key, read again regularly, because other pages and programs spend from it too. */

import type { QueryApi } from '../lib/client.ts'
import { showCredits, showState } from './account.ts'
import { type Budget, pauseMs, renewed, SHORTEST_PAUSE_MS, spent } from './budget.ts'

const READ_EVERY_MS = 10_000
/** A longer pause is shown. */
const SAVING_MS = 15_000

export type CreditBudget = {
  /** True where the last reading is old, or its minute is over. */
  isStale(): boolean
  read(signal: AbortSignal): Promise<void>
  /** Subtracts the cost of a live request. */
  spend(credits: number): void
  /** Pause before the next request of this cost; undefined where the minute or the month has no credits for it. */
  pauseMs(cost: number): number | undefined
  /** Credits left in this minute. */
  left(): number
  /** End of the minute. */
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

export type LiveRequest = { cost: number; at: number }

/** Milliseconds until the next request, shown on the page. */
export function showWait(budget: CreditBudget, last: LiveRequest | undefined, isLive: boolean): number {
  if (last === undefined) return 0
  const pause = budget.pauseMs(last.cost)
  const due = pause === undefined ? budget.ends().getTime() : last.at + pause
  const wait = pause === undefined ? Math.max(SHORTEST_PAUSE_MS, due - Date.now()) : due - Date.now()
  if (isLive) showState('live')
  else if (wait > SAVING_MS || pause === undefined) showState('saving', new Date(due))
  else if (wait > 0) showState('live')
  return wait
}
