/** Random choices that a seed gives back. */

export type Random = {
  /** From 0 up to, not including, 1. */
  next(): number
  /** A whole number from `min` to `max`, both possible. */
  between(min: number, max: number): number
  chance(probability: number): boolean
  pick<T>(choices: readonly [T, ...T[]]): T
  bits(count: number): bigint
}

/** Mulberry32: small, and good enough to choose by. */
export function randomOf(seed: number): Random {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (min: number, max: number) => min + Math.floor(next() * (max - min + 1))
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick: ([first, ...others]) => {
      const index = between(0, others.length)
      return index === 0 ? first : (others[index - 1] ?? first)
    },
    bits(count) {
      let value = 0n
      for (let left = count; left > 0; left -= 32) value = (value << 32n) | BigInt(between(0, 2 ** 32 - 1))
      return value & ((1n << BigInt(count)) - 1n)
    },
  }
}
