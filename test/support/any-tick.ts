/** Ticks as strange as the tables take them: amounts of nothing and of all 256 bits, prices that follow from them and ones that do not. */
import fc from 'fast-check'
import type { Tick } from '../../ingest/model/tick.ts'
import { executionPrice, spotPrice } from '../../ingest/pricing/price.ts'

const EDGES = [10_000n, ...[53n, 64n, 96n, 106n, 128n, 160n, 192n, 255n].map((bits) => 1n << bits)]

/** Integers of any length, often near an edge. */
function integer(bits: number): fc.Arbitrary<bigint> {
  const least = fc.integer({ min: 0, max: bits })
  const random = fc.tuple(least, fc.bigInt(0n, (1n << BigInt(bits)) - 1n)).map(([by, value]) => value >> BigInt(by))
  const edge = fc.constantFrom(0n, 1n, ...EDGES.flatMap((it) => [it - 1n, it, it + 1n]), (1n << 256n) - 1n)
  return fc.oneof(random, { arbitrary: edge.map((value) => BigInt.asUintN(bits, value)), weight: 1 })
}

const amount = fc.oneof(
  fc.tuple(integer(255), fc.boolean()).map(([size, isPaid]) => (isPaid ? -size : size)),
  fc.constant(-(1n << 255n)),
)
const decimals = fc.integer({ min: 0, max: 255 })
const number = fc.oneof(
  fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, Number.MIN_VALUE, 2 ** -1022, Number.MAX_VALUE),
)

export function anyTick(fixed: Pick<Tick, 'pool'>): fc.Arbitrary<Tick> {
  return fc
    .record({
      amount0: amount,
      amount1: amount,
      sqrtPriceX96: integer(256),
      places: fc.record({ decimals0: decimals, decimals1: decimals }),
      other: fc.record({ price: fc.option(number), spotPrice: fc.option(number) }),
      amountUsdMicros: integer(250),
      hookAmounts: fc.option(fc.record({ amount0: amount, amount1: amount }), { freq: 1 }),
    })
    .map(({ places, other, hookAmounts, ...tick }) => {
      const spot = other.spotPrice ?? orOne(spotPrice(tick.sqrtPriceX96, places))
      const price = other.price ?? orOne(executionPrice(tick.amount0, tick.amount1, places) ?? spot)
      return { ...fixed, ...tick, ...REST, price, spotPrice: spot, ...(hookAmounts && { hookAmounts }) }
    })
}

const REST = { logIndex: 0, transactionHash: `0x${'c0ffee00'.repeat(8)}`, liquidity: 0n, poolTick: 0, fee: 0 } as const

/** Values outside of any pool's range, whose price need not be a number. */
function orOne(price: number): number {
  return price >= 0 && price < Number.POSITIVE_INFINITY ? price : 1
}
