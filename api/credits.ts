/** One key's credits: what is used, what is held for questions under way, and who is let in. No clock and no store. */
import type { UnixSeconds } from '../ingest/message.ts'
import { minuteOf, monthOf, type Period } from './period.ts'
import type { Allowance } from './plan.ts'

export type Count = { credits: number; calls: number }

/** A count that holds for the window which starts at `start`, and for no other. */
type WindowCount = Count & { start: UnixSeconds }

export type Meter = {
  billingStart: UnixSeconds | undefined
  /** This process's absolute counts by minute, as they are stored. */
  minutes: Map<UnixSeconds, Count>
  /** This process's count of the month. */
  month: WindowCount
  /** What other processes used, and this one before it was last started. */
  others: { minute: WindowCount; month: WindowCount }
  holds: Set<Hold>
}

/** Credits set aside for a question under way, in the windows in which it was asked. */
export type Hold = { credits: number; minute: UnixSeconds; month: UnixSeconds }

export type Refusal = { window: 'minute' | 'month'; resetAt: UnixSeconds }

export type Usage = {
  minute: Count & { limit: number; remaining: number; resetAt: UnixSeconds }
  month: Count & { limit: number; remaining: number; resetAt: UnixSeconds; start: UnixSeconds }
}

const NOTHING: WindowCount = { start: 0, credits: 0, calls: 0 }

export function openMeter(billingStart: UnixSeconds | undefined): Meter {
  return {
    billingStart,
    minutes: new Map(),
    month: { ...NOTHING },
    others: { minute: NOTHING, month: NOTHING },
    holds: new Set(),
  }
}

/** Every authenticated request is a call, whatever becomes of it. */
export function countCall(meter: Meter, now: UnixSeconds): void {
  const month = monthOf(now, meter.billingStart)
  add(meter, minuteOf(now).start, month.start, { credits: 0, calls: 1 })
}

/**
 * Lets a question in while at least one credit remains, and sets aside the part of its cost that is known beforehand,
 * so that questions asked at the same time can't pass a limit together. Where both windows refuse, the month speaks.
 */
export function reserve(meter: Meter, allowance: Allowance, now: UnixSeconds, known: number): Hold | Refusal {
  const minute = minuteOf(now)
  const month = monthOf(now, meter.billingStart)
  if (usedIn(meter, 'month', month.start) + heldIn(meter, 'month', month.start) >= allowance.month)
    return { window: 'month', resetAt: month.end }
  if (usedIn(meter, 'minute', minute.start) + heldIn(meter, 'minute', minute.start) >= allowance.minute)
    return { window: 'minute', resetAt: minute.end }
  const hold = { credits: known, minute: minute.start, month: month.start }
  meter.holds.add(hold)
  return hold
}

/**
 * Turns a hold into use. What a question costs beyond its hold may pass a limit, but only where nothing else has
 * reached that limit meanwhile: so use ends at most one question's cost above a limit, however many ran at once.
 */
export function settle(meter: Meter, allowance: Allowance, hold: Hold, cost: number): Refusal | undefined {
  meter.holds.delete(hold)
  if (cost > hold.credits) {
    for (const window of ['month', 'minute'] as const) {
      const start = hold[window]
      if (usedIn(meter, window, start) + heldIn(meter, window, start) >= allowance[window])
        return { window, resetAt: periodFrom(meter, window, start).end }
    }
  }
  add(meter, hold.minute, hold.month, { credits: cost, calls: 0 })
  return undefined
}

/** A question that was not answered for reasons of ours costs nothing. */
export function release(meter: Meter, hold: Hold): void {
  meter.holds.delete(hold)
}

export function usageOf(meter: Meter, allowance: Allowance, now: UnixSeconds): Usage {
  const minute = minuteOf(now)
  const month = monthOf(now, meter.billingStart)
  const inMinute = countIn(meter, 'minute', minute.start)
  const inMonth = countIn(meter, 'month', month.start)
  return {
    minute: { ...inMinute, ...left(allowance.minute, inMinute), resetAt: minute.end },
    month: { ...inMonth, ...left(allowance.month, inMonth), resetAt: month.end, start: month.start },
  }
}

function left(limit: number, count: Count): { limit: number; remaining: number } {
  return { limit, remaining: Math.max(0, limit - count.credits) }
}

function countIn(meter: Meter, window: 'minute' | 'month', start: UnixSeconds): Count {
  const own = window === 'minute' ? meter.minutes.get(start) : at(meter.month, start)
  const others = at(meter.others[window], start)
  return {
    credits: (own?.credits ?? 0) + (others?.credits ?? 0),
    calls: (own?.calls ?? 0) + (others?.calls ?? 0),
  }
}

function at(count: WindowCount, start: UnixSeconds): Count | undefined {
  return count.start === start ? count : undefined
}

function usedIn(meter: Meter, window: 'minute' | 'month', start: UnixSeconds): number {
  return countIn(meter, window, start).credits
}

function heldIn(meter: Meter, window: 'minute' | 'month', start: UnixSeconds): number {
  let held = 0
  for (const hold of meter.holds) if (hold[window] === start) held += hold.credits
  return held
}

function periodFrom(meter: Meter, window: 'minute' | 'month', start: UnixSeconds): Period {
  return window === 'minute' ? minuteOf(start) : monthOf(start, meter.billingStart)
}

function add(meter: Meter, minute: UnixSeconds, month: UnixSeconds, more: Count): void {
  const count = meter.minutes.get(minute) ?? { credits: 0, calls: 0 }
  meter.minutes.set(minute, { credits: count.credits + more.credits, calls: count.calls + more.calls })
  // A question that was asked in a month gone by is in that month's rows, which nobody asks for any more.
  if (month < meter.month.start) return
  const before = at(meter.month, month) ?? NOTHING
  meter.month = { start: month, credits: before.credits + more.credits, calls: before.calls + more.calls }
}
