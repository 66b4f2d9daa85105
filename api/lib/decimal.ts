/** Raw token units as numbers and as text, correctly rounded. */
import { formatUnits } from 'viem'

/** Exact, without an exponent: `-2549.977996`. */
export function decimalText(raw: bigint, decimals: number): string {
  return formatUnits(raw, decimals)
}

/** The nearest double to raw / 10^decimals: `Number` rounds decimal text correctly, a division of two doubles does not. */
export function decimalNumber(raw: bigint, decimals: number): number {
  return Number(formatUnits(raw, decimals))
}

/** A double as decimal text without an exponent, to a millionth. */
export function plainText(value: number): string {
  if (!Number.isFinite(value)) return '0'
  if (Math.abs(value) >= 1e15) return BigInt(Math.round(value)).toString()
  return value.toFixed(6).replace(/\.?0+$/, '')
}
