import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sqrtPriceAtTick, tickAtSqrtPrice } from '../../../../api/market/pools/tick-math.ts'

test('the ends of the range are those of the contracts', () => {
  expect(sqrtPriceAtTick(-887_272)).toBe(4_295_128_739n)
  expect(sqrtPriceAtTick(887_272)).toBe(1_461_446_703_485_210_103_287_273_052_203_988_822_378_723_970_342n)
  expect(sqrtPriceAtTick(0)).toBe(2n ** 96n)
})

test('a price lies in the tick whose start it has passed, and in none before', () => {
  fc.assert(
    fc.property(fc.integer({ min: -887_271, max: 887_271 }), (tick) => {
      const start = sqrtPriceAtTick(tick)
      expect(tickAtSqrtPrice(start)).toBe(tick)
      expect(tickAtSqrtPrice(start - 1n)).toBe(tick - 1)
      expect(tickAtSqrtPrice(sqrtPriceAtTick(tick + 1) - 1n)).toBe(tick)
    }),
  )
})
