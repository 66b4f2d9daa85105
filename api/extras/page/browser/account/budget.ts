/**
 * Credit budget of background requests: half of what is left of a minute, spread over its rest, and all that is left of a month, spread
 * over its rest, so that an open tab lasts to the end of the month. A tab starts with some requests at the minute's pace.
 */
import type { CreditUsage } from '../lib/client.ts'

export type CreditWindow = {
  /** Identifies the window. */
  resetAt: string
  /** End by this machine's clock, in milliseconds. */
  ends: number
  /** Credits left for live requests in it. */
  left: number
}

export type Budget = {
  minute: CreditWindow
  month: CreditWindow
  /** Credits for the start, at the minute's pace. */
  opening: number
}

/** At most one request in this time. */
export const SHORTEST_PAUSE_MS = 1_000
/** The budget is read again after this time, at no cost: credits may be added, or spent by others. */
export const READ_AFTER_MS = 60_000
/** Share of the month's rest for the start: 33 credits of 10,000. */
const OPENING_PART = 300

const MONTH_MS = 31 * 86_400_000

/** Half of the rest when a minute is first seen; it never grows within a minute, and shrinks where others spend too. */
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
      // This machine's clock may be wrong; a minute lasts 60 s at most.
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

/** Pause before the next request of this cost; undefined where the minute or the month has no credits for it. */
export function pauseMs({ minute, month, opening }: Budget, cost: number, now: number): number | undefined {
  const share = (window: CreditWindow) => Math.max(0, window.ends - now) / Math.floor(window.left / cost)
  const pauses = [share(minute), opening < cost ? share(month) : 0]
  if (minute.left < cost || month.left < cost) return undefined
  return Math.max(SHORTEST_PAUSE_MS, ...pauses)
}
