import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { estimatePrices, storedPrice } from '../../../aggregator/candles/price-estimate.ts'
import { ulpsOf } from '../../../aggregator/store/native-format.ts'
import { columnsOf } from '../../../ingest/columns/tick-columns.ts'
import type { Tick } from '../../../ingest/model/tick.ts'
import { executionPrice, magnitude, spotPrice } from '../../../ingest/pricing/price.ts'
import { anyTick } from '../../support/any-tick.ts'
import { seeded } from '../../support/seed.ts'

/** From 2^68 to 2^144: token1 per token0 from 10^-17 to 10^28, in raw units. */
const SQRT_PRICE = fc
  .tuple(fc.integer({ min: 0, max: 75 }), fc.bigInt({ min: 2n ** 143n, max: 2n ** 144n - 1n }))
  .map(([shift, root]) => root >> BigInt(shift))
const DECIMALS = fc.integer({ min: 0, max: 36 })
/** As the contracts bound an amount that a pool can move. */
const AMOUNT = fc
  .tuple(fc.integer({ min: 0, max: 105 }), fc.bigInt({ min: -(2n ** 105n), max: 2n ** 105n }))
  .map(([shift, amount]) => amount >> BigInt(shift))

describe('the estimate of a price', () => {
  test('the estimate is within 8 units in the last place of the price, for any amounts, decimals and worth of a token', () => {
    fc.assert(
      fc.property(AMOUNT, AMOUNT, SQRT_PRICE, DECIMALS, DECIMALS, (amount0, amount1, root, ...places) => {
        const decimals = { decimals0: places[0], decimals1: places[1] }
        const spot = spotPrice(root, decimals)
        const price = executionPrice(amount0, amount1, decimals) ?? spot
        const estimate = estimateFor({ amount0, amount1, sqrtPriceX96: root, spotPrice: spot })
        expect(estimate.scale).toBe(Number(`1e${places[1] - places[0]}`))
        expect(magnitude(ulps(spot, estimate.spotPrice))).toBeLessThanOrEqual(8n)
        expect(magnitude(ulps(price, estimate.price))).toBeLessThanOrEqual(8n)
      }),
      seeded({ numRuns: 2_000 }),
    )
  })

  test('the estimate and the stored distance give back the price of any tick, bit for bit', () => {
    fc.assert(
      fc.property(anyTick({ pool: `0x${'fe'.repeat(20)}` }), (tick) => {
        const { scale, ...estimate } = estimateFor(tick)
        for (const kind of ['price', 'spotPrice'] as const) {
          // It would have many forms.
          expect(estimate[kind]).not.toBeNaN()
          const stored = { ...tick, scale, ulps: ulps(tick[kind], estimate[kind]) }
          expect(storedPrice(kind, stored)).toBe(tick[kind])
        }
      }),
      seeded({ numRuns: 2_000 }),
    )
  })
})

function estimateFor(tick: Pick<Tick, 'amount0' | 'amount1' | 'sqrtPriceX96' | 'spotPrice'>) {
  return estimatePrices(columnsOf([{ number: 1, timestamp: 1, ticks: [{ ...SOME_TICK, ...tick }] }]), 0)
}

const SOME_TICK: Tick = {
  ...{
    pool: `0x${'fe'.repeat(20)}`,
    logIndex: 0,
    transactionHash: `0x${'01'.repeat(32)}`,
    liquidity: 1n,
    poolTick: 0,
    fee: 0,
  },
  ...{ amount0: 0n, amount1: 0n, sqrtPriceX96: 1n, price: 1, spotPrice: 1, amountUsdMicros: 0n },
}

/** As a row has it. */
function ulps(value: number, estimate: number): bigint {
  return Buffer.from(ulpsOf(new Float64Array([value]), new Float64Array([estimate])).buffer).readBigInt64LE()
}
