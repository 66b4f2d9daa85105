/** Order-free digests of a block's ticks: two blocks with the same ones have the same sums, however they were read. */
import { HASH_BYTES, WORD_LANES } from '../../ingest/columns/tick-columns.ts'
import type { Tick, TickColumns } from '../../ingest/model/tick.ts'

/**
 * Modulo 2^64: the first eight bytes of the transaction hash (little-endian) + log index · K + amount0 + 3 · amount1 + 5 · sqrt price.
 * In SQL, where integers wrap as well: the sum of the column `tick_digest`.
 */
export function digestOf(ticks: readonly Tick[]): bigint {
  // Each part is summed by itself and weighed once; a block has far too few ticks for a sum of 32-bit numbers to lose a digit.
  let [low, high, logIndexes] = [0, 0, 0]
  let [amounts0, amounts1, roots] = [0n, 0n, 0n]
  for (const tick of ticks) {
    low += littleEndian32(tick.transactionHash, 2)
    high += littleEndian32(tick.transactionHash, 10)
    logIndexes += tick.logIndex
    amounts0 += tick.amount0
    amounts1 += tick.amount1
    roots += tick.sqrtPriceX96
  }
  const transactions = BigInt(low) + (BigInt(high) << 32n)
  const places = BigInt(logIndexes) * LOG_INDEX_FACTOR
  return BigInt.asUintN(64, transactions + places + amounts0 + 3n * amounts1 + 5n * roots)
}

/** The digest of all rows: equals `digestOf` of their ticks. */
export function digestOfColumns({
  length,
  transactionHash,
  logIndex,
  amount0,
  amount1,
  sqrtPrice,
}: TickColumns): bigint {
  const hashes = new DataView(transactionHash.buffer, transactionHash.byteOffset)
  const low = new Float64Array(5)
  const high = new Float64Array(5)
  for (let row = 0; row < length; row++) {
    const at = row * WORD_LANES
    low[0] = (low[0] ?? 0) + hashes.getUint32(row * HASH_BYTES, true)
    high[0] = (high[0] ?? 0) + hashes.getUint32(row * HASH_BYTES + 4, true)
    low[1] = (low[1] ?? 0) + (logIndex[row] ?? 0)
    for (const [index, words] of [amount0, amount1, sqrtPrice].entries()) {
      low[index + 2] = (low[index + 2] ?? 0) + (words[at] ?? 0)
      high[index + 2] = (high[index + 2] ?? 0) + (words[at + 1] ?? 0)
    }
  }
  const [transactions = 0n, places = 0n, amounts0 = 0n, amounts1 = 0n, roots = 0n] = Array.from(
    low,
    (sum, index) => BigInt(sum) + (BigInt(high[index] ?? 0) << 32n),
  )
  return BigInt.asUintN(64, transactions + places * LOG_INDEX_FACTOR + amounts0 + 3n * amounts1 + 5n * roots)
}

/** Modulo 2^64: the worth of each tick, in millionths of a dollar, times its log index and one. */
export function digestOfDollars(ticks: readonly Tick[]): bigint {
  const sum = ticks.reduce((all, tick) => all + BigInt(tick.logIndex + 1) * tick.amountUsdMicros, 0n)
  return BigInt.asUintN(64, sum)
}

/** The number in four bytes of lower-case hex, from index `from` on. */
function littleEndian32(hex: string, from: number): number {
  let value = 0
  for (let index = from + 6; index >= from; index -= 2) {
    value = value * 256 + nibble(hex.charCodeAt(index)) * 16 + nibble(hex.charCodeAt(index + 1))
  }
  return value
}

function nibble(code: number): number {
  return code < 97 ? code - 48 : code - 87
}

/** 2^64 divided by the golden ratio: neighbouring log indexes land far apart. */
export const LOG_INDEX_FACTOR = 0x9e3779b97f4a7c15n
