/**
 * A number as the unevaluated sum of two doubles, about 106 bits: many times faster than big integers, and precise enough to decide nearly
 * always how the exact result rounds. Where it cannot decide, exact arithmetic is required.
 *  The operations and their error bounds, in units of u² = 2^-106, are those of Joldes, Muller and Popescu, “Tight and rigorous error
 * bounds for basic building blocks of double-word arithmetic” (2017): product 7, quotient 15. `toDoubleDouble` adds 1. At most three
 * operations are chained, so the bound below, 256, has room.
 */
export type DoubleDouble = { hi: number; lo: number }

export const ERROR = 2 ** -98

/** `value` is below 2^900, so that no result overflows. */
export function toDoubleDouble(value: bigint): DoubleDouble {
  const hi = Number(value)
  // A double holds it.
  if (hi <= Number.MAX_SAFE_INTEGER && hi >= -Number.MAX_SAFE_INTEGER) return { hi, lo: 0 }
  return { hi, lo: Number(value - BigInt(hi)) }
}

export function product(a: DoubleDouble, b: DoubleDouble): DoubleDouble {
  const hi = a.hi * b.hi
  return sum(hi, productError(a.hi, b.hi, hi) + (a.hi * b.lo + a.lo * b.hi))
}

export function quotient(a: DoubleDouble, b: DoubleDouble): DoubleDouble {
  const hi = a.hi / b.hi
  // The leading bits of a − b · hi cancel.
  const back = b.hi * hi
  const part = sum(back, productError(b.hi, hi, back) + b.lo * hi)
  return sum(hi, (a.hi - part.hi + (a.lo - part.lo)) / b.hi)
}

/** The double nearest to the exact result; undefined where a tie is too close to decide. */
export function nearest({ hi, lo }: DoubleDouble): number | undefined {
  const error = Math.abs(hi) * ERROR
  const low = hi + (lo - error)
  return low === hi + (lo + error) ? low : undefined
}

/** The integer nearest to the exact positive result; undefined near a tie or above the exact range. */
export function nearestInteger({ hi, lo }: DoubleDouble): number | undefined {
  const whole = Math.round(hi)
  return hi < LARGEST_WITH_HALVES && Math.abs(hi - whole + lo) < 0.499 ? whole : undefined
}

export const LARGEST_WITH_HALVES = 2 ** 52

/** `a + b` where `a` is the larger. */
function sum(a: number, b: number): DoubleDouble {
  const hi = a + b
  return { hi, lo: b - (hi - a) }
}

/** Rounding error of `a · b` (Dekker). */
export function productError(a: number, b: number, rounded: number): number {
  const aHigh = upperHalf(a)
  const aLow = a - aHigh
  const bHigh = upperHalf(b)
  const bLow = b - bHigh
  return aLow * bLow - (rounded - aHigh * bHigh - aLow * bHigh - aHigh * bLow)
}

/** The 26 leading bits (Veltkamp). */
function upperHalf(value: number): number {
  const scaled = value * SPLITTER
  return scaled - (scaled - value)
}

const SPLITTER = 2 ** 27 + 1
