import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Budget, pauseMs, renewed, spent } from '../../api/page/browser/budget.ts'

const START = Date.UTC(2024, 0, 5, 14, 3)
const minute = (remaining: number, at = START + 60_000) => ({
  used: 60 - remaining,
  limit: 60,
  remaining,
  reset_at: new Date(at).toISOString(),
})

test('live questions may take half of what a minute has left when it is first seen', () => {
  const budget = renewed(undefined, minute(55), START)
  expect(budget).toEqual({ resetAt: '2024-01-05T14:04:00.000Z', ends: START + 60_000, left: 27 })
  // Read again in the same minute it does not grow, and shrinks where others spend too.
  expect(renewed(spent(budget, 7), minute(48), START).left).toBe(20)
  expect(renewed(budget, minute(10), START).left).toBe(5)
  expect(renewed(spent(budget, 27), minute(60, START + 120_000), START + 60_000).left).toBe(30)
})

test('however live questions cost, they take no more than half, and leave a second between them', () => {
  const plan = fc.record({
    remaining: fc.nat(200),
    costs: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 80 }),
  })
  fc.assert(
    fc.property(plan, ({ remaining, costs }) => {
      let budget: Budget = renewed(undefined, minute(remaining), START)
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
  const budget = { resetAt: '', ends: START + 60_000, left: 20 }
  expect(pauseMs(budget, 1, START)).toBe(3_000)
  expect(pauseMs(budget, 2, START + 30_000)).toBe(3_000)
  expect(pauseMs({ ...budget, left: 1_000 }, 1, START)).toBe(1_000)
  expect(pauseMs({ ...budget, left: 1 }, 2, START)).toBeUndefined()
})

test('a clock that is behind makes no minute longer', () => {
  expect(renewed(undefined, minute(60), START - 3_600_000).ends).toBe(START - 3_600_000 + 60_000)
})
