/** The pools of a pair in the order in which they are listed. */
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { Listing } from '../model/listing.ts'
import { type MarketStore, type PoolState, readHeld, readPoolStates } from './pool-state.ts'

const MAX_POOLS = 100

/** At most 100, by the value held over the last 24 hours, weighted by time: liquidity that was added for a moment does not raise a pool. */
export async function readRankedPools(
  store: MarketStore,
  listings: readonly Listing[],
  now: UnixSeconds,
): Promise<readonly PoolState[]> {
  const [states, held] = await Promise.all([readPoolStates(store, listings), readHeld(store, listings, now)])
  return states
    .map((state, index) => ({ state, heldUsd: held[index] ?? 0 }))
    .sort(byHeldValue)
    .slice(0, MAX_POOLS)
    .map(({ state }) => state)
}

type HeldState = { state: PoolState; heldUsd: number }

function byHeldValue(one: HeldState, other: HeldState): number {
  return other.heldUsd - one.heldUsd || byValue(one.state, other.state)
}

function byValue(one: PoolState, other: PoolState): number {
  if (one.valueUsd !== other.valueUsd) return other.valueUsd - one.valueUsd
  if (one.volumeUsd !== other.volumeUsd) return Number(other.volumeUsd) - Number(one.volumeUsd)
  return one.listing.pool.id < other.listing.pool.id ? -1 : 1
}
