/** Thrift: what the page may spend by itself is half of the minute's remaining credits, evenly over the rest of the minute. */
import type { Usage } from './client.ts'

export type Budget = {
  /** Names the minute. */
  resetAt: string
  /** When it ends, by this machine's clock, in milliseconds. */
  ends: number
  /** Credits that may still be spent on live questions in this minute. */
  left: number
}

/** At most one question in this time. */
export const SHORTEST_PAUSE_MS = 1_000

/** Half of what remains when a minute is first seen; within a minute it never grows, and shrinks where others spend too. */
export function renewed(budget: Budget | undefined, minute: Usage['minute'], now: number): Budget {
  const half = Math.floor(minute.remaining / 2)
  const { reset_at: resetAt } = minute
  const left = budget?.resetAt === resetAt ? Math.min(budget.left, half) : half
  // This machine's clock may be wrong; a minute is a minute.
  return { resetAt, ends: Math.min(Date.parse(resetAt), now + 60_000), left }
}

export function spent(budget: Budget, credits: number): Budget {
  return { ...budget, left: Math.max(0, budget.left - credits) }
}

/** Undefined where the minute holds no such question any more. */
export function pauseMs(budget: Budget, cost: number, now: number): number | undefined {
  const questions = Math.floor(budget.left / cost)
  if (questions < 1) return undefined
  return Math.max(SHORTEST_PAUSE_MS, (budget.ends - now) / questions)
}
