import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decimalNumber, decimalText, plainText } from '../../../api/lib/decimal.ts'

test('text is exact and has no exponent', () => {
  expect(decimalText(-2_549_977_996n, 6)).toBe('-2549.977996')
  expect(decimalText(1n, 18)).toBe('0.000000000000000001')
  expect(decimalText(10n ** 30n, 0)).toBe(`1${'0'.repeat(30)}`)
  expect(decimalText(5n * 10n ** 18n, 18)).toBe('5')
})

test('no other double is nearer than the number', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 200n }), fc.integer({ min: 0, max: 24 }), (raw, decimals) => {
      const scale = 2n ** 200n
      const distance = (double: number) => {
        // Doubles down to 2^-200 are whole multiples of it, which is all that is needed here.
        const exact = toFraction(double, scale) * 10n ** BigInt(decimals) - raw * scale
        return exact < 0n ? -exact : exact
      }
      const number = decimalNumber(raw, decimals)
      const step = Math.max(number * 2 ** -52, Number.MIN_VALUE)
      expect(distance(number) <= distance(number + step)).toBe(true)
      expect(distance(number) <= distance(number - step)).toBe(true)
    }),
  )
})

test('plain text of a double', () => {
  expect([0, 1, 0.1, 1234.5678901, 1e21, 1.5e15, 1e-9, -0].map(plainText)).toEqual([
    '0',
    '1',
    '0.1',
    '1234.56789',
    '1000000000000000000000',
    '1500000000000000',
    '0',
    '0',
  ])
})

/** double · scale, exactly, for a double that is a multiple of 1 / scale. */
function toFraction(double: number, scale: bigint): bigint {
  let [mantissa, exponent] = [double, 0]
  while (!Number.isInteger(mantissa)) {
    mantissa *= 2
    exponent += 1
  }
  return (BigInt(mantissa) * scale) / 2n ** BigInt(exponent)
}
