/** Which of a pair's pools speaks for it. */
import type { Match } from './symbol.ts'

/** What a pool brings to the choice. */
export type Candidate = Match & {
  /** Swaps in the range that was asked for. */
  trades: number
  rangeUsdMicros: bigint
  /** Volume in the 24 hours that end with the question. */
  dayUsdMicros: bigint
  valueUsd: number
}

/** Below this a pool's price is anybody's to move. */
export const SMALL_POOL_USD = 10_000

/**
 * Of those that traded in the range, else of all: the one with most volume in 24 h, then in the range, then with most value.
 * Small pools only where no other is left. Equals follow the order of networks and ids, so that the answer is always the same.
 */
export function leadOf(candidates: readonly Candidate[]): Candidate | undefined {
  const active = preferring(candidates, (candidate) => candidate.trades > 0)
  const sound = preferring(active, (candidate) => candidate.valueUsd >= SMALL_POOL_USD)
  return sound.reduce<Candidate | undefined>(
    (best, candidate) => (best === undefined || leads(candidate, best) ? candidate : best),
    undefined,
  )
}

function preferring(candidates: readonly Candidate[], good: (candidate: Candidate) => boolean): readonly Candidate[] {
  const preferred = candidates.filter(good)
  return preferred.length > 0 ? preferred : candidates
}

function leads(one: Candidate, other: Candidate): boolean {
  if (one.dayUsdMicros !== other.dayUsdMicros) return one.dayUsdMicros > other.dayUsdMicros
  if (one.rangeUsdMicros !== other.rangeUsdMicros) return one.rangeUsdMicros > other.rangeUsdMicros
  if (one.valueUsd !== other.valueUsd) return one.valueUsd > other.valueUsd
  const network = one.listing.network.chainId - other.listing.network.chainId
  if (network !== 0) return network < 0
  return one.listing.pool.id < other.listing.pool.id
}
