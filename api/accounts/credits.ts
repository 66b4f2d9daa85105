/** One key's credits: what is used, what is held for questions under way, and who is let in. No clock and no store. */
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { Allowance } from '../lib/plan.ts'
import { minuteOf, monthOf, type Period } from './period.ts'

export type Count = { credits: number; calls: number }

/** A count that holds for the window which starts at `start`, and for no other. */
type WindowCount = Count & { start: UnixSeconds }

export type Meter = {
  billingStart: UnixSeconds | undefined
  /** This process's absolute counts by minute, as they are stored. */
  minutes: Map<UnixSeconds, Count>
  /** This process's count of the month. */
  month: WindowCount
  /** What other processes used, and this one before it was last started: a month's minutes up to some, and those after it one by one. */
  others: { before: WindowCount; recent: Map<string, Count & { minute: UnixSeconds }> }
  holds: Set<Hold>
  /** Questions that are worked on, and those that wait for them. */
  running: number
  waiting: (() => void)[]
}

/** Credits set aside for a question under way, in the windows in which it was asked. */
export type Hold = {
  credits: number
  minute: UnixSeconds
  month: UnixSeconds
  /** They fit what this process has claimed. */
  covered: boolean
}

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
    others: { before: NOTHING, recent: new Map() },
    holds: new Set(),
    running: 0,
    waiting: [],
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
  const hold = { credits: known, minute: minute.start, month: month.start, covered: false }
  meter.holds.add(hold)
  return hold
}

/** Which window others have used up meanwhile, so that no work is done for a question that is let in no more. */
export function exhausted(meter: Meter, allowance: Allowance, hold: Hold): Refusal | undefined {
  for (const window of ['month', 'minute'] as const) {
    const start = hold[window]
    if (usedIn(meter, window, start) >= allowance[window])
      return { window, resetAt: periodFrom(meter, window, start).end }
  }
  return undefined
}

/** Turns a hold into use. What a question costs beyond its hold may pass a limit: its work is done. */
export function settle(meter: Meter, hold: Hold, cost: number): void {
  meter.holds.delete(hold)
  add(meter, hold.minute, hold.month, { credits: cost, calls: 0 })
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

/** This process's own. */
export function countOf(meter: Meter, minute: UnixSeconds): Count {
  return meter.minutes.get(minute) ?? NOTHING
}

/** Takes in what another process has used of a minute: absolute, and so the larger count is the later one. */
export function recordPeerUsage(meter: Meter, instance: string, minute: UnixSeconds, { credits, calls }: Count): void {
  const { recent } = meter.others
  const place = `${instance}:${minute}`
  const known = recent.get(place)
  recent.set(place, {
    minute,
    credits: Math.max(credits, known?.credits ?? 0),
    calls: Math.max(calls, known?.calls ?? 0),
  })
  if (recent.size > MAX_RECENT) fold(meter, minute - SETTLED_SECONDS)
}

/** Minutes that grow no more are counted in one sum. */
function fold(meter: Meter, oldest: UnixSeconds): void {
  const { recent } = meter.others
  for (const [place, { minute, credits, calls }] of recent) {
    if (minute >= oldest) continue
    recent.delete(place)
    const { start } = monthOf(minute, meter.billingStart)
    if (start < meter.others.before.start) continue
    const before = at(meter.others.before, start) ?? NOTHING
    meter.others.before = { start, credits: before.credits + credits, calls: before.calls + calls }
  }
}

/** No question is under way for so long, so a minute this old grows no more. */
export const SETTLED_SECONDS = 600
const MAX_RECENT = 64

function countIn(meter: Meter, window: 'minute' | 'month', start: UnixSeconds): Count {
  const own = window === 'minute' ? meter.minutes.get(start) : at(meter.month, start)
  const before = window === 'minute' ? undefined : at(meter.others.before, start)
  let credits = (own?.credits ?? 0) + (before?.credits ?? 0)
  let calls = (own?.calls ?? 0) + (before?.calls ?? 0)
  for (const one of meter.others.recent.values()) {
    if (window === 'minute' ? one.minute !== start : one.minute < start) continue
    credits += one.credits
    calls += one.calls
  }
  return { credits, calls }
}

function at(count: WindowCount, start: UnixSeconds): Count | undefined {
  return count.start === start ? count : undefined
}

function usedIn(meter: Meter, window: 'minute' | 'month', start: UnixSeconds): number {
  return countIn(meter, window, start).credits
}

export function heldIn(meter: Meter, window: 'minute' | 'month', start: UnixSeconds): number {
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
