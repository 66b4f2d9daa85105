import fc from 'fast-check'
import { expect, test } from 'vitest'
import { resolutionOf, windowsOf } from '../../../api/market/windows.ts'

test('windows cover a range without gap or overlap, each on its own grid', () => {
  const second = fc.integer({ min: 0, max: 3 * 86_400 })
  fc.assert(
    fc.property(second, second, (from, to) => {
      const { t0, t1, t2, t3, t4, t5, t6, t7 } = windowsOf({ from, to })
      const bounds = [t0, t1, t2, t3, t4, t5, t6, t7]
      expect([t0, t7]).toEqual([from, Math.max(from, to)])
      expect(bounds).toEqual([...bounds].sort((left, right) => left - right))
      const resolutions = [1, 60, 3_600, 86_400, 3_600, 60, 1]
      for (const [index, resolution] of resolutions.entries()) {
        const [start = 0, end = 0] = bounds.slice(index, index + 2)
        if (start === end) continue
        expect([start % resolution, end % resolution]).toEqual([0, 0])
      }
    }),
  )
})

test('seconds are read at the edges only', () => {
  const { t0, t1, t6, t7 } = windowsOf({ from: 30, to: 10 * 86_400 + 45 })
  expect([t1 - t0, t7 - t6]).toEqual([30, 45])
})

test('the coarsest resolution that divides an interval', () => {
  expect([1, 45, 60, 420, 3_600, 7_200, 5_400, 86_400, 86_399].map(resolutionOf)).toEqual([
    1, 1, 60, 60, 3_600, 3_600, 60, 86_400, 1,
  ])
})
