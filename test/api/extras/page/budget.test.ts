import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Budget, pauseMs, renewed, spent } from '../../../../api/extras/page/browser/account/budget.ts'

const START = Date.UTC(2024, 0, 5, 14, 3)
const DAY_MS = 86_400_000
const PLENTY = 1_000_000_000

function usage(minuteLeft: number, monthLeft = PLENTY, minuteEnds = START + 60_000, monthEnds = START + 30 * DAY_MS) {
  const window = (remaining: number, limit: number, ends: number) => ({
    used: limit - remaining,
    limit,
    remaining,
    reset_at: new Date(ends).toISOString(),
  })
  const month = { ...window(monthLeft, PLENTY, monthEnds), billing_period_start: null }
  return { minute: window(minuteLeft, 60, minuteEnds), month }
}

test('live questions may take half of what a minute has left when it is first seen', () => {
  const budget = renewed(undefined, usage(55), START)
  expect(budget.minute).toEqual({ resetAt: '2024-01-05T14:04:00.000Z', ends: START + 60_000, left: 27 })
  // Read again in the same minute it does not grow, and shrinks where others spend too.
  expect(renewed(spent(budget, 7), usage(48), START).minute.left).toBe(20)
  expect(renewed(budget, usage(10), START).minute.left).toBe(5)
  const next = usage(60, PLENTY, START + 120_000)
  expect(renewed(spent(budget, 27), next, START + 60_000).minute.left).toBe(30)
})

test('however live questions cost, they take no more than half, and leave a second between them', () => {
  const plan = fc.record({
    remaining: fc.nat(200),
    costs: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 80 }),
  })
  fc.assert(
    fc.property(plan, ({ remaining, costs }) => {
      let budget: Budget = renewed(undefined, usage(remaining), START)
      let [now, used] = [START, 0]
      for (const cost of costs) {
        const pause = pauseMs(budget, cost, now)
        if (pause === undefined) continue
        expect(pause).toBeGreaterThanOrEqual(1_000)
        used += cost
        budget = spent(budget, cost)
        now += pause
      }
      expect(used).toBeLessThanOrEqual(remaining / 2)
    }),
  )
})

test('questions are spread over the rest of the minute', () => {
  const budget = renewed(undefined, usage(40), START)
  expect(pauseMs(budget, 1, START)).toBe(3_000)
  expect(pauseMs(budget, 2, START + 30_000)).toBe(3_000)
  expect(pauseMs(renewed(undefined, usage(2_000), START), 1, START)).toBe(1_000)
  expect(pauseMs(renewed(undefined, usage(2), START), 2, START)).toBeUndefined()
})

test('a clock that is behind makes no minute longer', () => {
  const late = START - 3_600_000
  expect(renewed(undefined, usage(60), late).minute.ends).toBe(late + 60_000)
})

/** A tab that is never closed nor hidden, to the end of its month: what its questions cost, and the longest time without one. */
function monthOf({ credits, days, costs, others }: Month): { used: number; longestMs: number; inFirstMinute: number } {
  const ends = START + days * DAY_MS
  let [now, left, used, longestMs, turns, inFirstMinute] = [START, credits, 0, 0, 0, 0]
  let budget: Budget | undefined
  while (now < ends) {
    budget = renewed(budget, usage(60, left, (Math.floor(now / 60_000) + 1) * 60_000, ends), now)
    const cost = costs[turns % costs.length] ?? 1
    const pause = pauseMs(budget, cost, now)
    // The page reads its budget again where the minute has no credits left.
    if (pause === undefined && left >= cost) {
      now = (Math.floor(now / 60_000) + 1) * 60_000
      continue
    }
    if (pause === undefined) break
    turns += 1
    used += cost
    if (now < START + 60_000) inFirstMinute += cost
    left = Math.max(0, left - cost - others)
    budget = spent(budget, cost)
    longestMs = Math.max(longestMs, Math.min(pause, ends - now))
    now += pause
  }
  return { used, longestMs, inFirstMinute }
}

type Month = { credits: number; days: number; costs: readonly number[]; others: number }

test('the free plan lasts a tab that stays open to the end of its month', () => {
  const { used, longestMs, inFirstMinute } = monthOf({ credits: 10_000, days: 30, costs: [1], others: 0 })
  expect(used).toBeGreaterThan(9_990)
  expect(used).toBeLessThanOrEqual(10_000)
  // 30 days are 2,592,000 s: one credit in 260 s.
  expect(longestMs / 1_000).toBeGreaterThan(259)
  expect(longestMs / 1_000).toBeLessThan(265)
  // At the minute's pace first.
  expect(inFirstMinute).toBeGreaterThan(25)
})

test('a plan of any size lasts the month, whatever questions cost and others spend', () => {
  const plan = fc.record({
    credits: fc.integer({ min: 300, max: 20_000 }),
    days: fc.integer({ min: 1, max: 31 }),
    costs: fc.array(fc.integer({ min: 1, max: 13 }), { minLength: 1, maxLength: 5 }),
    others: fc.nat(3),
  })
  fc.assert(
    fc.property(plan, (month) => {
      const { used, longestMs } = monthOf(month)
      expect(used).toBeLessThanOrEqual(month.credits)
      // What others spend shortens what is left faster than the page plans for, so only alone is no silence longer than a tenth of the month.
      if (month.others === 0 && month.credits > 100 * Math.max(...month.costs))
        expect(longestMs).toBeLessThan((month.days * DAY_MS) / 10)
    }),
    { numRuns: 100 },
  )
})

test('a month without credits has no live questions', () => {
  expect(pauseMs(renewed(undefined, usage(60, 0), START), 1, START)).toBeUndefined()
})
