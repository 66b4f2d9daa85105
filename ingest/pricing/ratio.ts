/** A ratio of integers as the nearest double. */

/**
 * `numerator / denominator`, rounded once to nearest, ties to even (IEEE 754). Both are positive; the result must be a normal double, which
 * prices of any pool are (10^±294 at most).
 */
export function ratioToNumber(numerator: bigint, denominator: bigint): number {
  if (numerator <= MAX_EXACT && denominator <= MAX_EXACT) return Number(numerator) / Number(denominator)
  // Scaled so that the quotient has at least 60 bits: 53 for the result, the rest for rounding. A remainder sets the last bit, so that a
  // value just above a tie is not taken for one. `Number` of a bigint rounds to nearest, ties to even.
  const shift = 64 - (bitsOf(numerator) - bitsOf(denominator))
  const scaled = shift >= 0 ? numerator << BigInt(shift) : numerator
  const divisor = shift >= 0 ? denominator : denominator << BigInt(-shift)
  const quotient = scaled / divisor
  const sticky = quotient * divisor === scaled ? quotient : quotient | 1n
  return Number(sticky) * 2 ** -shift
}

/** Integers up to here are doubles, whose division rounds correctly. */
const MAX_EXACT = 2n ** 53n

/** Accurate to 4 bits, which suffices to choose a scale. */
function bitsOf(value: bigint): number {
  return value.toString(16).length * 4
}
