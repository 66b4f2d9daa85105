import fc from 'fast-check'
import { expect, test } from 'vitest'
import { halvesOf, resolutionOf } from '../../../../api/market/model/windows.ts'
import type { TimeRange } from '../../../../api/query/time-range.ts'

/** In the order of time. */
function piecesOf(range: TimeRange) {
  const [earlier, later] = halvesOf(range)
  const pieces = [...[...earlier], ...[...later].reverse()]
  return pieces.map(([resolution, piece]) => ({ resolution, ...piece }))
}

test('the halves of a range cover it without gap or overlap, each piece on its own grid', () => {
  const second = fc.integer({ min: 0, max: 3 * 86_400 })
  fc.assert(
    fc.property(second, second, (from, to) => {
      let next = from
      for (const { resolution, ...piece } of piecesOf({ from, to })) {
        expect(piece.from).toBe(next)
        expect(piece.to).toBeGreaterThan(piece.from)
        expect([piece.from % resolution, piece.to % resolution]).toEqual([0, 0])
        next = piece.to
      }
      expect(next).toBe(Math.max(from, to))
    }),
  )
})

test('seconds are read at the edges only', () => {
  const [earlier, later] = halvesOf({ from: 30, to: 10 * 86_400 + 45 })
  expect([earlier.get(1), later.get(1)]).toEqual([
    { from: 30, to: 60 },
    { from: 10 * 86_400, to: 10 * 86_400 + 45 },
  ])
})

test('the coarsest resolution that divides an interval', () => {
  expect([1, 45, 60, 420, 3_600, 7_200, 5_400, 86_400, 86_399].map(resolutionOf)).toEqual([
    1, 1, 60, 60, 3_600, 3_600, 60, 86_400, 1,
  ])
})
