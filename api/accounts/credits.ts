/** One key's credits: used, reserved for running queries, and whether the next query is admitted. No clock and no store. */
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { Allowance } from '../lib/plan.ts'
import { minuteOf, monthOf, type Period } from './period.ts'

export type Count = { credits: number; calls: number }

/** The count of the window that starts at `start`. */
type WindowCount = Count & { start: UnixSeconds }

export type Meter = {
  billingStart: UnixSeconds | undefined
  /** This process's absolute counts by minute, as they are stored. */
  minutes: Map<UnixSeconds, Count>
  /** This process's count of the month. */
  month: WindowCount
  /** Counts of other processes, and of earlier runs of this one: the settled minutes of a month in one sum, the recent ones each. */
  others: { before: WindowCount; recent: Map<string, Count & { minute: UnixSeconds }> }
  holds: Set<Hold>
  /** Running queries, and queries that wait for them to end, see near-limit.ts. */
  running: number
  waiting: (() => void)[]
}

/** Credits reserved for a running query, in the windows of its start. */
export type Hold = {
  credits: number
  minute: UnixSeconds
  month: UnixSeconds
  /** They fit the granted claim of this process. */
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

/** Every authenticated request is a call, whatever its answer. */
export function countCall(meter: Meter, now: UnixSeconds): void {
  const month = monthOf(now, meter.billingStart)
  add(meter, minuteOf(now).start, month.start, { credits: 0, calls: 1 })
}

/**
 * Admits a query while at least one credit remains, and reserves the known part of its cost, so that concurrent queries cannot pass a
 * limit together. Where both windows are used up, the refusal names the month.
 */
export function reserve(meter: Meter, allowance: Allowance, now: UnixSeconds, known: number): Hold | Refusal {
  const minute = minuteOf(now)
  const month = monthOf(now, meter.billingStart)
  if (usedIn(meter, 'month', month.start) + reservedIn(meter, 'month', month.start) >= allowance.month)
    return { window: 'month', resetAt: month.end }
  if (usedIn(meter, 'minute', minute.start) + reservedIn(meter, 'minute', minute.start) >= allowance.minute)
    return { window: 'minute', resetAt: minute.end }
  const hold = { credits: known, minute: minute.start, month: month.start, covered: false }
  meter.holds.add(hold)
  return hold
}

/** The window that other processes have used up since the reservation: checked before the query runs. */
export function exhausted(meter: Meter, allowance: Allowance, hold: Hold): Refusal | undefined {
  for (const window of ['month', 'minute'] as const) {
    const start = hold[window]
    if (usedIn(meter, window, start) >= allowance[window])
      return { window, resetAt: periodFrom(meter, window, start).end }
  }
  return undefined
}

/** Turns a reservation into use. A cost beyond the reservation may pass a limit: the work is done. */
export function settle(meter: Meter, hold: Hold, cost: number): void {
  meter.holds.delete(hold)
  add(meter, hold.minute, hold.month, { credits: cost, calls: 0 })
}

/** Drops the reservation of a query that failed inside the service: it costs nothing. */
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

/** The count of this process. */
export function countOf(meter: Meter, minute: UnixSeconds): Count {
  return meter.minutes.get(minute) ?? NOTHING
}

/** Merges another process's absolute count of a minute: the larger count is the later one. */
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

/** Adds settled minutes to one sum. */
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

/** No query runs for so long, so that the count of an older minute is final. */
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

export function reservedIn(meter: Meter, window: 'minute' | 'month', start: UnixSeconds): number {
  let reserved = 0
  for (const hold of meter.holds) if (hold[window] === start) reserved += hold.credits
  return reserved
}

function periodFrom(meter: Meter, window: 'minute' | 'month', start: UnixSeconds): Period {
  return window === 'minute' ? minuteOf(start) : monthOf(start, meter.billingStart)
}

function add(meter: Meter, minute: UnixSeconds, month: UnixSeconds, more: Count): void {
  const count = meter.minutes.get(minute) ?? { credits: 0, calls: 0 }
  meter.minutes.set(minute, { credits: count.credits + more.credits, calls: count.calls + more.calls })
  // A query of a past month counts in the stored rows of that month, which are not read again.
  if (month < meter.month.start) return
  const before = at(meter.month, month) ?? NOTHING
  meter.month = { start: month, credits: before.credits + more.credits, calls: before.calls + more.calls }
}
