/** Random numbers that a seed repeats. */

export type Random = {
  /** In [0, 1). */
  uniform(): number
  /** Mean 0, deviation 1. */
  normal(): number
  /** How many of something that happens `mean` times on average. */
  poisson(mean: number): number
  pick<T>(list: readonly [T, ...T[]]): T
}

export function randomOf(seed: number): Random {
  const uniform = mulberry32(seed)
  const random: Random = {
    uniform,
    normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
    poisson(mean) {
      const floor = Math.exp(-mean)
      let count = 0
      for (let product = uniform(); product > floor; product *= uniform()) count += 1
      return count
    },
    pick: (list) => list[Math.floor(uniform() * list.length)] ?? list[0],
  }
  return random
}

/** Tommy Ettinger's generator: 32 bits of state suffice for simulated trades. */
function mulberry32(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}
