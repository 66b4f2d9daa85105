import fc from 'fast-check'
import { encodeAbiParameters, type Hex, parseAbiParameters } from 'viem'
import { describe, expect, test } from 'vitest'
import { swapWords } from '../../../ingest/decode/swap-words.ts'

const FIVE = parseAbiParameters('int256, int256, uint256, uint256, int24')
const edges = [0n, 1n, 63n, 64n, 65n, 127n, 128n, 191n, 192n, 254n].flatMap((e) => [
  2n ** e - 1n,
  2n ** e,
  2n ** e + 1n,
])
const unsigned = fc.oneof(
  fc.constantFrom(...edges, 2n ** 256n - 1n),
  fc.integer({ min: 1, max: 256 }).chain((bits) => fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n })),
)
const signed = fc.oneof(
  fc.constantFrom(...edges, ...edges.map((edge) => -edge), 2n ** 255n - 1n, -(2n ** 255n)),
  fc
    .integer({ min: 1, max: 255 })
    .chain((bits) => fc.bigInt({ min: -(2n ** BigInt(bits)), max: 2n ** BigInt(bits) - 1n })),
)
const poolTick = fc.integer({ min: -(2 ** 23), max: 2 ** 23 - 1 })

describe('the words of a swap', () => {
  test('read as viem wrote them, whatever was read before', () => {
    fc.assert(
      fc.property(signed, signed, unsigned, unsigned, poolTick, (amount0, amount1, sqrtPriceX96, liquidity, tick) => {
        const data = encodeAbiParameters(FIVE, [amount0, amount1, sqrtPriceX96, liquidity, tick])
        const words = { amount0, amount1, sqrtPriceX96, liquidity, poolTick: tick }
        expect(swapWords(data, 5)).toEqual(words)
        // v4 has one more behind them.
        expect(swapWords(`${data}${'0'.repeat(64)}`, 6)).toEqual(words)
      }),
      { numRuns: 3_000 },
    )
  })

  test('words in upper case are read as those in lower case', () => {
    const data = encodeAbiParameters(FIVE, [-1n, 0xabcdefn, 0xfedcban, 0n, -5])
    expect(swapWords(`0x${data.slice(2).toUpperCase()}` as Hex, 5)).toEqual(swapWords(data, 5))
  })

  test('are none where there are too few, too many, or other characters than digits', () => {
    const data = encodeAbiParameters(FIVE, [1n, 2n, 3n, 4n, 5])
    expect(swapWords(data.slice(0, -1) as Hex, 5)).toBeUndefined()
    expect(swapWords(data.slice(0, -64) as Hex, 5)).toBeUndefined()
    expect(swapWords(`${data}00`, 5)).toBeUndefined()
    expect(swapWords(data, 6)).toBeUndefined()
    for (const at of [2, 100, data.length - 1]) {
      expect(swapWords(`${data.slice(0, at)}g${data.slice(at + 1)}` as Hex, 5)).toBeUndefined()
    }
  })
})
