import fc from 'fast-check'
import { expect, test } from 'vitest'
import { deviationOf, type Peer, type Quotes, weightedMedian } from '../../../../api/market/find/consensus.ts'

const row = (start: number, low: number, high = low, seconds = 60) => ({ start, seconds, low, high, close: low })
const quotes = (before: number | undefined, ...rows: Quotes['rows']): Quotes => ({ rows, before })
const peer = (weight: number, its: Quotes): Peer => ({ weight, quotes: its })

test('the median lies where half of the weight is reached, or half of the pools where none has any', () => {
  const values = [9, 1, 5]
  expect(weightedMedian(values.map((value) => ({ value, weight: value === 9 ? 10 : 1 })))).toBe(9)
  expect(weightedMedian(values.map((value) => ({ value, weight: 0 })))).toBe(5)
  expect(weightedMedian([])).toBeUndefined()
})

test('no price of those that hold less than half moves the median beyond the others’', () => {
  const values = fc.array(
    fc.record({ value: fc.double({ min: 1, max: 2, noNaN: true }), weight: fc.integer({ min: 1, max: 9 }) }),
    {
      minLength: 1,
    },
  )
  fc.assert(
    fc.property(values, fc.double({ min: 1e-9, max: 1e9, noNaN: true }), (honest, price) => {
      const held = honest.reduce((sum, { weight }) => sum + weight, 0)
      const median = weightedMedian([...honest, { value: price, weight: held * 0.99 }]) ?? 0
      expect(median).toBeGreaterThanOrEqual(Math.min(...honest.map(({ value }) => value)))
      expect(median).toBeLessThanOrEqual(Math.max(...honest.map(({ value }) => value)))
    }),
  )
})

test('one bucket far from what the others traded at is enough, however many are near', () => {
  const honest = peer(100, quotes(100, row(0, 100, 101), row(60, 100), row(120, 100)))
  const near = quotes(100, row(0, 100), row(60, 100), row(120, 101))
  const spike = quotes(100, row(0, 100), row(60, 100, 10_000), row(120, 100))
  expect(deviationOf(near, [honest, peer(1, near)])).toBeCloseTo(0.01, 12)
  expect(deviationOf(spike, [honest, peer(1, spike)])).toBeCloseTo(99, 9)
  expect(deviationOf(quotes(100, row(60, 7)), [honest])).toBeCloseTo(100 / 7 - 1, 9)
})

test('a price that moves within a bucket, from the close before it on, does not deviate', () => {
  const moving = peer(1, quotes(100, row(0, 100, 110), row(60, 110, 120)))
  expect(deviationOf(quotes(undefined, row(30, 105, 110, 1)), [moving])).toBe(0)
  expect(deviationOf(quotes(undefined, row(90, 115, 118, 1)), [moving])).toBe(0)
})

test('pools that did not trade are compared by their last price', () => {
  expect(deviationOf(quotes(320), [peer(1, quotes(100)), peer(0, quotes(320))])).toBeCloseTo(2.2, 12)
  expect(deviationOf(quotes(undefined), [peer(1, quotes(100))])).toBe(0)
})
