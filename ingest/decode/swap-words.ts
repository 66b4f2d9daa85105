/** Data words of a Swap log; v3, v4 and forks share the first five. Nearly every log is a Swap, so the words are parsed together, as bytes. */
import type { Hex } from 'viem'
import type { Tick } from '../model/tick.ts'

/** Amounts are signed as in the log. */
export type SwapWords = Pick<Tick, 'amount0' | 'amount1' | 'sqrtPriceX96' | 'liquidity' | 'poolTick'>

const MAX_WORDS = 7
/** Scratch buffer without state between calls: a buffer for each log would cost more than parsing it. */
const bytes = Buffer.alloc(MAX_WORDS * 32)
const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)

/** Undefined where `data` is not `count` words of hex digits. */
export function swapWords(data: Hex, count: 5 | 6 | 7): SwapWords | undefined {
  // `write` stops at the first non-hex character.
  if (data.length !== 2 + count * 64 || bytes.write(data.slice(2), 0, 'hex') !== count * 32) return undefined
  return {
    amount0: int(0),
    amount1: int(1),
    sqrtPriceX96: uint(2),
    liquidity: uint(3),
    poolTick: view.getInt32(4 * 32 + 28),
  }
}

/** Most words are mostly padding: bigints of one or two 64-bit limbs are cheaper than of 256 bits. */
function uint(word: number): bigint {
  const at = word * 32
  const low = view.getBigUint64(at + 24)
  if (isFilled(at, 0) && isFilled(at + 8, 0)) {
    return isFilled(at + 16, 0) ? low : (view.getBigUint64(at + 16) << 64n) | low
  }
  return (upper(at) << 128n) | (view.getBigUint64(at + 16) << 64n) | low
}

/** Two's complement. */
function int(word: number): bigint {
  const at = word * 32
  const sign = view.getInt8(at) >> 7
  if (isFilled(at, sign) && isFilled(at + 8, sign)) {
    if (isFilled(at + 16, sign) && view.getInt8(at + 24) >> 7 === sign) return view.getBigInt64(at + 24)
    if (view.getInt8(at + 16) >> 7 === sign) return (view.getBigInt64(at + 16) << 64n) | view.getBigUint64(at + 24)
  }
  return BigInt.asIntN(256, uint(word))
}

function upper(at: number): bigint {
  return (view.getBigUint64(at) << 64n) | view.getBigUint64(at + 8)
}

/** Whether all 64 bits from `at` on equal the sign. */
function isFilled(at: number, sign: number): boolean {
  return view.getInt32(at) === sign && view.getInt32(at + 4) === sign
}
