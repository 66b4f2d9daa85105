import fc from 'fast-check'
import { encodeAbiParameters, parseAbiParameters } from 'viem'
import { expect, test } from 'vitest'
import { int, int24, uint, uint24, wordCount } from '../../../ingest/decode/word.ts'

const signed = fc.oneof(
  fc.bigInt({ min: -(2n ** 255n), max: 2n ** 255n - 1n }),
  fc.bigInt({ min: -(2n ** 66n), max: 2n ** 66n }),
)
const edges = [
  0n,
  1n,
  -1n,
  2n ** 63n,
  2n ** 64n - 1n,
  2n ** 64n,
  -(2n ** 64n),
  -(2n ** 64n) - 1n,
  2n ** 128n,
  -(2n ** 128n),
  -(2n ** 128n) - 1n,
  -(2n ** 255n),
]

test('a signed word reads as viem wrote it', () => {
  function check(value: bigint): void {
    expect(int(encodeAbiParameters(parseAbiParameters('bool, int256'), [true, value]), 1)).toBe(value)
  }
  for (const edge of edges) check(edge)
  fc.assert(fc.property(signed, check))
})

test('an unsigned word reads as viem wrote it', () => {
  function check(value: bigint): void {
    expect(uint(encodeAbiParameters(parseAbiParameters('uint256'), [value]), 0)).toBe(value)
  }
  for (const edge of edges) if (edge >= 0n) check(edge)
  fc.assert(
    fc.property(fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), fc.bigInt({ min: 0n, max: 2n ** 130n })), check),
  )
})

test('24 bits read with and without a sign', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -(2 ** 23), max: 2 ** 23 - 1 }),
      fc.integer({ min: 0, max: 2 ** 24 - 1 }),
      (tick, fee) => {
        const data = encodeAbiParameters(parseAbiParameters('int24, uint24'), [tick, fee])
        expect([int24(data, 0), uint24(data, 1), wordCount(data)]).toEqual([tick, fee, 2])
      },
    ),
  )
})
