/** Prices of one swap: token1 per token0, decimal-adjusted, each rounded once from the exact ratio. */
import { type DoubleDouble, nearest, product, quotient, toDoubleDouble } from './double-double.ts'
import { ratioToNumber } from './ratio.ts'

/** What a price needs to know of a pool. */
export type TokenDecimals = { decimals0: number; decimals1: number }

/** A leg under this many raw units says the price only to 0.01 % or worse. */
const MIN_LEG_UNITS = 10_000n

const Q192 = 2n ** 192n

/** The price in the pool after a swap: free of the fee, which an execution price contains. */
export function spotPrice(sqrtPriceX96: bigint, { decimals0, decimals1 }: TokenDecimals): number {
  const root = toDoubleDouble(sqrtPriceX96)
  const quick = nearest(shifted(product(root, root), decimals0 - decimals1))
  // Twos to any power change no digit.
  if (quick !== undefined) return quick * 2 ** -192
  return ratioToNumber(sqrtPriceX96 * sqrtPriceX96 * powerOfTen(decimals0), Q192 * powerOfTen(decimals1))
}

/** What the taker really paid; undefined where a leg is too small to tell, and the spot price has to stand in. */
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

/** `price` times ten to the `places`; not a number where that is too far, and exact arithmetic has to go there. */
function shifted(price: DoubleDouble, places: number): DoubleDouble {
  if (places === 0) return price
  const power = POWER_PAIRS[Math.abs(places)]
  if (!power) return { hi: Number.NaN, lo: Number.NaN }
  return places > 0 ? product(price, power) : quotient(price, power)
}

export function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value
}

const POWERS = Array.from({ length: 256 }, (_, exponent) => 10n ** BigInt(exponent))
/** Between tokens of sane decimals; within it no result is so large or small that a double loses digits. */
const POWER_PAIRS = POWERS.slice(0, 61).map(toDoubleDouble)

/** `exponent` is a token's decimals, which are a uint8. */
export function powerOfTen(exponent: number): bigint {
  return POWERS[exponent] ?? 10n ** BigInt(exponent)
}
