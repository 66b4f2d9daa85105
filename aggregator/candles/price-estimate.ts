/**
 * Prices take little room: both follow, but for their last bits, from other columns of their row. A row keeps how many units in the last
 * place each is away from the estimate made here, and the tables add the two up again, to the last bit whatever the row says.
 *
 * The twin of the ALIAS columns `price` and `spot_price` of ticks (0002_ticks.sql): the same operations in the same order. IEEE 754 rounds
 * each of them to the same bits on every machine. None can give a NaN, which has many bit patterns.
 */

import type { Tick } from '../../ingest/model/tick.ts'
import { magnitude } from '../../ingest/pricing/price.ts'

export type PriceEstimate = {
  /** 10^(decimals1 − decimals0), from the ratio of raw units to the ratio of whole tokens. */
  scale: number
  spotPrice: number
  price: number
}

/** Swaps with a smaller leg have the spot price for a price (see ingest/pricing/price.ts). */
const MIN_LEG_UNITS = 10_000
/** As far apart as the decimals of two tokens can be. */
const MAX_DECIMALS_APART = 255
const POWERS_OF_TEN = Array.from({ length: 2 * MAX_DECIMALS_APART + 1 }, (_, index) =>
  Number(`1e${index - MAX_DECIMALS_APART}`),
)
const TWO_16 = 2 ** 16
const TWO_64 = 2 ** 64
const TWO_80 = 2 ** 80

/** Inputs of the estimates. */
type Swapped = Pick<Tick, 'amount0' | 'amount1' | 'sqrtPriceX96'>

export function estimatePrices(tick: Swapped & Pick<Tick, 'spotPrice'>): PriceEstimate {
  const root = rootOf(tick.sqrtPriceX96)
  // A tick lacks its tokens' decimals, but its price implies them. Nonsense there gives a bad estimate, and the stored distance corrects it.
  const places = Math.round(Math.log10((root * root) / tick.spotPrice))
  return estimateOf(tick, root, POWERS_OF_TEN[places + MAX_DECIMALS_APART] ?? 1)
}

/** Equals the ALIAS column of a stored tick; for short answers it is quicker to compute here. */
export function storedPrice(kind: 'spotPrice' | 'price', stored: Swapped & { scale: number; ulps: bigint }): number {
  const estimate = estimateOf(stored, rootOf(stored.sqrtPriceX96), stored.scale)[kind]
  const bits = new DataView(new ArrayBuffer(8))
  bits.setFloat64(0, estimate)
  bits.setBigInt64(0, bits.getBigInt64(0) + stored.ulps)
  return bits.getFloat64(0)
}

function estimateOf(swapped: Swapped, root: number, scale: number): PriceEstimate {
  const [size0, size1] = [sizeOf(swapped.amount0), sizeOf(swapped.amount1)]
  const execution = size0 < MIN_LEG_UNITS || size1 < MIN_LEG_UNITS ? root * root : size1 / size0
  return { scale, spotPrice: (root * root) / scale, price: execution / scale }
}

/** Without its 2^96. The lowest 16 bits are below a double's precision, and none are set from the 144th on. */
function rootOf(sqrtPriceX96: bigint): number {
  return word(sqrtPriceX96 >> 80n) / TWO_16 + word(sqrtPriceX96 >> 16n) / TWO_80
}

/** 128 bits, which no token's supply exceeds. */
function sizeOf(amount: bigint): number {
  const size = magnitude(amount)
  if (size <= Number.MAX_SAFE_INTEGER) return Number(size)
  return word(size >> 64n) * TWO_64 + word(size)
}

/** The lowest 64 bits. */
function word(value: bigint): number {
  return Number(BigInt.asUintN(64, value))
}
