import fc from 'fast-check'
import { expect, test } from 'vitest'
import { gapsIn } from '../../../aggregator/history/coverage.ts'

const range = fc.tuple(fc.nat(40), fc.nat(10)).map(([from, length]) => ({ from, to: from + length }))

test('gaps and coverage together are what was wanted, and no gap is covered', () => {
  fc.assert(
    fc.property(range, fc.array(range, { maxLength: 6 }), (wanted, covered) => {
      const inside = (block: number, ranges: readonly { from: number; to: number }[]) =>
        ranges.some(({ from, to }) => block >= from && block <= to)
      const gaps = gapsIn(wanted, covered)
      for (let block = wanted.from; block <= wanted.to; block++) {
        expect(inside(block, gaps)).toBe(!inside(block, covered))
      }
      for (const { from, to } of gaps) {
        expect(from).toBeLessThanOrEqual(to)
        expect(from).toBeGreaterThanOrEqual(wanted.from)
        expect(to).toBeLessThanOrEqual(wanted.to)
      }
    }),
  )
})
