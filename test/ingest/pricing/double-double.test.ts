import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type DoubleDouble,
  nearest,
  nearestInteger,
  product,
  quotient,
  toDoubleDouble,
} from '../../../ingest/pricing/double-double.ts'

const positive = fc.oneof(
  fc.bigInt({ min: 1n, max: 2n ** 260n }),
  fc.bigInt({ min: 1n, max: 2n ** 60n }),
  fc.integer({ min: 0, max: 260 }).map((places) => 2n ** BigInt(places)),
)

describe('a pair of doubles', () => {
  test('a pair of an integer, a product or a quotient is off by less than 2^-100 of itself', () => {
    fc.assert(
      fc.property(positive, positive, (a, b) => {
        expect(isNear(toDoubleDouble(a), a, 1n)).toBe(true)
        expect(isNear(product(toDoubleDouble(a), toDoubleDouble(b)), a * b, 1n)).toBe(true)
        expect(isNear(quotient(toDoubleDouble(a), toDoubleDouble(b)), a, b)).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })

  test('the pair of a negative integer is its exact value', () => {
    expect(toDoubleDouble(-(2n ** 70n) - 1n)).toEqual({ hi: -(2 ** 70), lo: -1 })
    expect(toDoubleDouble(-5n)).toEqual({ hi: -5, lo: 0 })
  })

  test('a pair says which double is nearest, unless that may lie on either side of a tie', () => {
    const ulp = 2 ** -52
    expect(nearest({ hi: 1, lo: ulp / 4 })).toBe(1)
    expect(nearest({ hi: 1, lo: -ulp / 5 })).toBe(1)
    expect(nearest({ hi: 1, lo: ulp / 2 })).toBeUndefined()
    expect(nearest({ hi: 1, lo: (ulp / 2) * (1 + 2 ** -48) })).toBeUndefined()
    expect(nearest({ hi: 1, lo: (ulp / 2) * (1 + 2 ** -40) })).toBe(1 + ulp)
    // Below a power of two, doubles lie twice as close.
    expect(nearest({ hi: 1, lo: -ulp / 4 })).toBeUndefined()
    expect(nearest({ hi: Number.NaN, lo: 0 })).toBeUndefined()
    expect(nearest({ hi: Number.POSITIVE_INFINITY, lo: Number.NaN })).toBeUndefined()
  })

  test('a pair says which integer is nearest, unless that is nearly a tie or too large to say', () => {
    expect(nearestInteger({ hi: 12, lo: 2 ** -60 })).toBe(12)
    expect(nearestInteger({ hi: 12.4, lo: 0 })).toBe(12)
    expect(nearestInteger({ hi: 12.6, lo: 0 })).toBe(13)
    expect(nearestInteger({ hi: 12.5, lo: 0 })).toBeUndefined()
    expect(nearestInteger({ hi: 12.5, lo: -(2 ** -60) })).toBeUndefined()
    expect(nearestInteger({ hi: 2 ** 52, lo: 0 })).toBeUndefined()
    expect(nearestInteger({ hi: Number.NaN, lo: 0 })).toBeUndefined()
  })
})

/** Compared as fractions: `value` = mantissa / 2^shift. */
function isNear({ hi, lo }: DoubleDouble, numerator: bigint, denominator: bigint): boolean {
  const SHIFT = 700n
  const scaled = scale(hi, SHIFT) + scale(lo, SHIFT)
  const error = scaled * denominator - (numerator << SHIFT)
  return (error < 0n ? -error : error) << 100n <= numerator << SHIFT
}

/** `value · 2^shift`, exactly: powers of two change no digit. */
function scale(value: number, shift: bigint): bigint {
  if (Number.isInteger(value)) return BigInt(value) << shift
  const half = Number(shift) / 2
  return BigInt(value * 2 ** half * 2 ** half)
}
