/** An order-free digest of a block's ticks: two blocks with the same ticks have the same sum, however they were read. */
import type { Tick } from '../ingest/tick.ts'

/**
 * Modulo 2^64: the first eight bytes of the transaction hash (little-endian) + log index · K + amount0 + 3 · amount1 + 5 · sqrt price.
 * In SQL, where integers wrap as well:
 *
 *     sum(reinterpretAsUInt64(substring(transaction_hash, 1, 8)) + log_index * 0x9e3779b97f4a7c15
 *       + toUInt64(amount0) + 3 * toUInt64(amount1) + 5 * toUInt64(sqrt_price))
 */
export function digestOf(ticks: readonly Tick[]): bigint {
  let sum = 0n
  for (const tick of ticks) {
    const transaction = Buffer.from(tick.transactionHash.slice(2, 18), 'hex').readBigUInt64LE()
    const amounts = tick.amount0 + 3n * tick.amount1 + 5n * tick.sqrtPriceX96
    sum += transaction + BigInt(tick.logIndex) * LOG_INDEX_FACTOR + amounts
  }
  return BigInt.asUintN(64, sum)
}

/** 2^64 divided by the golden ratio: neighbouring log indexes land far apart. */
export const LOG_INDEX_FACTOR = 0x9e3779b97f4a7c15n
