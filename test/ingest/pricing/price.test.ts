import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { executionPrice, spotPrice } from '../../../ingest/pricing/price.ts'
import { ratioToNumber } from '../../../ingest/pricing/ratio.ts'

const usdcWeth = { decimals0: 6, decimals1: 18 }

describe('a ratio as the nearest double', () => {
  const positive = fc.bigInt({ min: 1n, max: 2n ** 420n })

  test('no other double is nearer to the exact ratio', () => {
    fc.assert(
      fc.property(positive, positive, (numerator, denominator) => {
        const rounded = ratioToNumber(numerator, denominator)
        const error = distance(rounded, numerator, denominator)
        for (const neighbour of neighbours(rounded)) {
          const other = distance(neighbour, numerator, denominator)
          // Exact fractions, compared without division.
          expect(error.numerator * other.denominator <= other.numerator * error.denominator).toBe(true)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  test('ties go to even, as IEEE 754 says', () => {
    expect(ratioToNumber(2n ** 53n + 1n, 1n)).toBe(2 ** 53)
    expect(ratioToNumber(2n ** 53n + 3n, 1n)).toBe(2 ** 53 + 4)
    expect(ratioToNumber((2n ** 53n + 1n) * 10n ** 30n + 1n, 10n ** 30n)).toBe(2 ** 53 + 2)
  })

  test('small integers divide as doubles do', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1 }), fc.integer({ min: 1 }), (a, b) => {
        expect(ratioToNumber(BigInt(a), BigInt(b))).toBe(a / b)
      }),
    )
  })
})

describe('prices of a swap', () => {
  test('the spot price is the square of the sqrt price, adjusted for decimals: the opening price of a recorded day', () => {
    const price = spotPrice(0x51fdf2fd9b2526872a9b723450f2n, usdcWeth)
    expect(1 / price).toBeCloseTo(2269.745824, 6)
  })

  test('the execution price is what was paid for what was received, whatever the signs', () => {
    expect(executionPrice(-2_000_000_000n, 10n ** 18n, usdcWeth)).toBe(0.0005)
    expect(executionPrice(2_000_000_000n, -(10n ** 18n), usdcWeth)).toBe(0.0005)
  })

  test('a leg strictly under 10,000 raw units has no execution price', () => {
    expect(executionPrice(9_999n, 10n ** 12n, usdcWeth)).toBeUndefined()
    expect(executionPrice(10n ** 12n, -9_999n, usdcWeth)).toBeUndefined()
    expect(executionPrice(10_000n, -10_000n, usdcWeth)).toBe(10_000 / 1e18 / (10_000 / 1e6))
    expect(executionPrice(0n, 5n, usdcWeth)).toBeUndefined()
  })

  describe('are the same as by exact arithmetic alone', () => {
    const places = fc.oneof(fc.integer({ min: 0, max: 24 }), fc.integer({ min: 0, max: 255 }))
    const amount = fc.oneof(
      fc.bigInt({ min: 10_000n, max: 2n ** 127n }),
      fc.bigInt({ min: 10_000n, max: 2n ** 60n }),
      // Round numbers, as people trade them, end in ties.
      fc
        .tuple(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 4, max: 30 }))
        .map(([n, e]) => BigInt(n) * 10n ** BigInt(e)),
      fc.integer({ min: 14, max: 120 }).map((e) => 2n ** BigInt(e)),
      fc
        .tuple(fc.bigInt({ min: 2n ** 53n, max: 2n ** 54n }), fc.integer({ min: 0, max: 60 }))
        .map(([n, e]) => n << BigInt(e)),
    )

    test('spot', () => {
      const roots = fc.oneof(fc.bigInt({ min: 4295128739n, max: 2n ** 160n }), amount)
      fc.assert(
        fc.property(roots, places, places, (root, decimals0, decimals1) => {
          const exact = ratioToNumber(root * root * 10n ** BigInt(decimals0), 2n ** 192n * 10n ** BigInt(decimals1))
          expect(spotPrice(root, { decimals0, decimals1 })).toBe(exact)
        }),
        { numRuns: 5_000 },
      )
    })

    test('execution', () => {
      fc.assert(
        fc.property(amount, amount, places, places, (amount0, amount1, decimals0, decimals1) => {
          const exact = ratioToNumber(amount1 * 10n ** BigInt(decimals0), amount0 * 10n ** BigInt(decimals1))
          expect(executionPrice(amount0, -amount1, { decimals0, decimals1 })).toBe(exact)
        }),
        { numRuns: 5_000 },
      )
    })
  })

  test('absurd decimals give finite prices', () => {
    const smallest = spotPrice(4295128739n, { decimals0: 0, decimals1: 255 })
    const largest = spotPrice(1461446703485210103287273052203988822378723970342n, { decimals0: 255, decimals1: 0 })
    expect(smallest).toBeGreaterThan(0)
    expect(largest).toBeLessThan(Number.POSITIVE_INFINITY)
  })
})

type Fraction = { numerator: bigint; denominator: bigint }

function toFraction(value: number): Fraction {
  let exponent = 0
  let mantissa = value
  while (!Number.isInteger(mantissa)) {
    mantissa *= 2
    exponent += 1
  }
  return { numerator: BigInt(mantissa), denominator: 2n ** BigInt(exponent) }
}

function distance(value: number, numerator: bigint, denominator: bigint): Fraction {
  const exact = toFraction(value)
  const difference = exact.numerator * denominator - numerator * exact.denominator
  return { numerator: difference < 0n ? -difference : difference, denominator: exact.denominator * denominator }
}

function neighbours(value: number): number[] {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  const bits = view.getBigUint64(0)
  return [bits - 1n, bits + 1n].map((other) => {
    view.setBigUint64(0, other)
    return view.getFloat64(0)
  })
}
