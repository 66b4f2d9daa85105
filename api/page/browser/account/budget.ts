/**
 * Thrift: what the page may ask by itself. Of the minute half of what remains, evenly over the rest of the minute. Of the month all that
 * remains, evenly over the rest of the month, so that a tab that stays open lasts to its end; but a tab begins with some questions at the
 * minute's pace.
 */
import type { CreditUsage } from '../lib/client.ts'

export type CreditWindow = {
  /** Names the window. */
  resetAt: string
  /** When it ends, by this machine's clock, in milliseconds. */
  ends: number
  /** Credits that may still be spent on live questions in it. */
  left: number
}

export type Budget = {
  minute: CreditWindow
  month: CreditWindow
  /** Credits that are spent at the minute's pace, and once. */
  opening: number
}

/** At most one question in this time. */
export const SHORTEST_PAUSE_MS = 1_000
/** After this the budget is read again, which is free: credits may have been added, or spent elsewhere. */
export const READ_AFTER_MS = 60_000
/** A tab begins with this part of what the month has left: 33 credits of 10,000. */
const OPENING_PART = 300

const MONTH_MS = 31 * 86_400_000

/** Half of what remains when a minute is first seen; within a minute it never grows, and shrinks where others spend too. */
export function renewed(
  budget: Budget | undefined,
  { minute, month }: Pick<CreditUsage, 'minute' | 'month'>,
  now: number,
): Budget {
  const half = Math.floor(minute.remaining / 2)
  const isSameMinute = budget?.minute.resetAt === minute.reset_at
  return {
    minute: {
      resetAt: minute.reset_at,
      // This machine's clock may be wrong; a minute is a minute.
      ends: Math.min(Date.parse(minute.reset_at), now + 60_000),
      left: isSameMinute ? Math.min(budget.minute.left, half) : half,
    },
    month: {
      resetAt: month.reset_at,
      ends: Math.min(Date.parse(month.reset_at), now + MONTH_MS),
      left: month.remaining,
    },
    opening: budget?.opening ?? Math.floor(month.remaining / OPENING_PART),
  }
}

export function spent({ minute, month, opening }: Budget, credits: number): Budget {
  const less = (left: number) => Math.max(0, left - credits)
  return {
    minute: { ...minute, left: less(minute.left) },
    month: { ...month, left: less(month.left) },
    opening: less(opening),
  }
}

/** How long after a question of this cost the next one is due; undefined where the minute or the month holds none any more. */
export function pauseMs({ minute, month, opening }: Budget, cost: number, now: number): number | undefined {
  const share = (window: CreditWindow) => Math.max(0, window.ends - now) / Math.floor(window.left / cost)
  const pauses = [share(minute), opening < cost ? share(month) : 0]
  if (minute.left < cost || month.left < cost) return undefined
  return Math.max(SHORTEST_PAUSE_MS, ...pauses)
}
