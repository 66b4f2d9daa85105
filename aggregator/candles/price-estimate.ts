/**
 * Prices take little room: both follow, but for their last bits, from other columns of their row. A row keeps how many units in the last
 * place each is away from the estimate made here, and the tables add the two up again, to the last bit whatever the row says.
 *
 * The twin of the ALIAS columns `price` and `spot_price` of ticks (0002_ticks.sql): the same operations in the same order. IEEE 754 rounds
 * each of them to the same bits on every machine. None can give a NaN, which has many bit patterns.
 */

import { WORD_LANES } from '../../ingest/columns/tick-columns.ts'
import type { Tick, TickColumns } from '../../ingest/model/tick.ts'
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
const TWO_31 = 2 ** 31
const TWO_32 = 2 ** 32
const TWO_64 = 2 ** 64
const TWO_80 = 2 ** 80

/** The estimates of a row, from its words as columns. */
export function estimatePrices(ticks: TickColumns, row: number): PriceEstimate {
  const at = row * WORD_LANES
  const root = rootOf(halfword(ticks.sqrtPrice, at + 2), halfword(ticks.sqrtPrice, at))
  // A tick lacks its tokens' decimals, but its price implies them. Nonsense there gives a bad estimate, and the stored distance corrects it.
  const places = Math.round(Math.log10((root * root) / (ticks.spotPrice[row] ?? 0)))
  const scale = POWERS_OF_TEN[places + MAX_DECIMALS_APART] ?? 1
  return estimateOf(root, sizeAt(ticks.amount0, at), sizeAt(ticks.amount1, at), scale)
}

/** Inputs of the estimates. */
type Swapped = Pick<Tick, 'amount0' | 'amount1' | 'sqrtPriceX96'>

/** Equals the ALIAS column of a stored tick; for short answers it is quicker to compute here. */
export function storedPrice(kind: 'spotPrice' | 'price', stored: Swapped & { scale: number; ulps: bigint }): number {
  const { amount0, amount1, sqrtPriceX96, scale } = stored
  const root = rootOf(word(sqrtPriceX96 >> 80n), word(sqrtPriceX96 >> 16n))
  const estimate = estimateOf(root, sizeOf(amount0), sizeOf(amount1), scale)[kind]
  const bits = new DataView(new ArrayBuffer(8))
  bits.setFloat64(0, estimate)
  bits.setBigInt64(0, bits.getBigInt64(0) + stored.ulps)
  return bits.getFloat64(0)
}

function estimateOf(root: number, size0: number, size1: number, scale: number): PriceEstimate {
  const execution = size0 < MIN_LEG_UNITS || size1 < MIN_LEG_UNITS ? root * root : size1 / size0
  return { scale, spotPrice: (root * root) / scale, price: execution / scale }
}

/**
 * The root without its 2^96, from its bits 80 to 143 and 16 to 79: the lowest 16 bits are below a double's precision, and none are set from the 144th
 * on.
 */
function rootOf(high: number, low: number): number {
  return high / TWO_16 + low / TWO_80
}

/** 64 bits of a word, from the 16th of lane `at` on. */
function halfword(lanes: Uint32Array, at: number): number {
  const [low = 0, middle = 0, high = 0] = [lanes[at], lanes[at + 1], lanes[at + 2]]
  return (((middle >>> 16) | (high << 16)) >>> 0) * TWO_32 + (((low >>> 16) | (middle << 16)) >>> 0)
}

/** As `sizeOf`, from a word in two's complement. */
function sizeAt(lanes: Uint32Array, at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = [lanes[at], lanes[at + 1], lanes[at + 2], lanes[at + 3]]
  if ((lanes[at + WORD_LANES - 1] ?? 0) < TWO_31) return (d * TWO_32 + c) * TWO_64 + (b * TWO_32 + a)
  // The complement of each lane, and one: it is carried over lanes that are zero.
  const [e, f, g] = [a === 0, a === 0 && b === 0, a === 0 && b === 0 && c === 0]
  const low = -a >>> 0
  const second = e ? -b >>> 0 : ~b >>> 0
  const third = f ? -c >>> 0 : ~c >>> 0
  const fourth = g ? -d >>> 0 : ~d >>> 0
  return (fourth * TWO_32 + third) * TWO_64 + (second * TWO_32 + low)
}

/** 128 bits, which no token's supply exceeds. */
export function sizeOf(amount: bigint): number {
  const size = magnitude(amount)
  if (size <= Number.MAX_SAFE_INTEGER) return Number(size)
  return word(size >> 64n) * TWO_64 + word(size)
}

/** The lowest 64 bits. */
function word(value: bigint): number {
  return Number(BigInt.asUintN(64, value))
}
