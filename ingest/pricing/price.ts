/** Prices of one swap: token1 per token0, decimal-adjusted, each rounded once from the exact ratio. */
import { type DoubleDouble, nearest, product, quotient, toDoubleDouble } from './double-double.ts'
import { ratioToNumber } from './ratio.ts'

/** Decimals of a pool's two tokens. */
export type TokenDecimals = { decimals0: number; decimals1: number }

/** Below this many raw units a leg determines the price only to 0.01 % or worse. */
export const MIN_LEG_UNITS = 10_000n

const Q192 = 2n ** 192n

/** The pool's price after a swap, without the fee. */
export function spotPrice(sqrtPriceX96: bigint, { decimals0, decimals1 }: TokenDecimals): number {
  const root = toDoubleDouble(sqrtPriceX96)
  const quick = nearest(shifted(product(root, root), decimals0 - decimals1))
  // Twos to any power change no digit.
  if (quick !== undefined) return quick * 2 ** -192
  return ratioToNumber(sqrtPriceX96 * sqrtPriceX96 * powerOfTen(decimals0), Q192 * powerOfTen(decimals1))
}

/** The price that the taker paid, fee included; undefined where a leg is too small, and the spot price is used instead. */
export function executionPrice(
  amount0: bigint,
  amount1: bigint,
  { decimals0, decimals1 }: TokenDecimals,
): number | undefined {
  const size0 = magnitude(amount0)
  const size1 = magnitude(amount1)
  if (size0 < MIN_LEG_UNITS || size1 < MIN_LEG_UNITS) return undefined
  const quick = nearest(shifted(quotient(toDoubleDouble(size1), toDoubleDouble(size0)), decimals0 - decimals1))
  return quick ?? ratioToNumber(size1 * powerOfTen(decimals0), size0 * powerOfTen(decimals1))
}

/** `price` · 10^places; NaN where the exponent is out of range, and exact arithmetic is required. */
function shifted(price: DoubleDouble, places: number): DoubleDouble {
  if (places === 0) return price
  const power = powerPair(Math.abs(places))
  if (!power) return { hi: Number.NaN, lo: Number.NaN }
  return places > 0 ? product(price, power) : quotient(price, power)
}

/** 10^exponent; undefined where the exponent is no difference of plausible decimals. */
export function powerPair(exponent: number): DoubleDouble | undefined {
  return POWER_PAIRS[exponent]
}

export function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value
}

const POWERS = Array.from({ length: 256 }, (_, exponent) => 10n ** BigInt(exponent))
/** Tokens of plausible decimals stay within it; no result loses digits there. */
const POWER_PAIRS = POWERS.slice(0, 61).map(toDoubleDouble)

/** `exponent` is a token's decimals, which are a uint8. */
export function powerOfTen(exponent: number): bigint {
  return POWERS[exponent] ?? 10n ** BigInt(exponent)
}
