/** The pools of a pair in the order in which they are listed. */
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { decimalText } from '../../lib/decimal.ts'
import { NO_VOLUME } from '../cache/bucket-rows.ts'
import type { Listing } from '../model/listing.ts'
import { type DayPrice, type MarketStore, type PoolState, readDayPrice, readPoolStates } from './pool-state.ts'
import { readVolumes } from './volumes.ts'

const MAX_POOLS = 100
const DAY: UnixSeconds = 86_400

export type RankedPool = PoolState &
  DayPrice & {
    /** Decimal text, over the last 24 h. */
    dayVolumeUsd: string
  }

/** At most 100, by the value that each row shows. */
export async function readRankedPools(
  store: MarketStore,
  listings: readonly Listing[],
  now: UnixSeconds,
): Promise<readonly RankedPool[]> {
  const states = await readPoolStates(store, listings)
  return withLastDay(store, states.toSorted(byValue).slice(0, MAX_POOLS), now)
}

async function withLastDay(
  store: MarketStore,
  states: readonly PoolState[],
  now: UnixSeconds,
): Promise<readonly RankedPool[]> {
  const listings = states.map(({ listing }) => listing)
  const volumes = await readVolumes(store.cache, listings, { from: now - DAY, to: now + 1 })
  return Promise.all(
    states.map(async (state, index) => ({
      ...state,
      ...(await readDayPrice(store, state.listing, now)),
      dayVolumeUsd: decimalText((volumes[index] ?? NO_VOLUME).usdMicros, 6),
    })),
  )
}

function byValue(one: PoolState, other: PoolState): number {
  if (one.valueUsd !== other.valueUsd) return other.valueUsd - one.valueUsd
  if (one.volumeUsd !== other.volumeUsd) return Number(other.volumeUsd) - Number(one.volumeUsd)
  return one.listing.pool.id < other.listing.pool.id ? -1 : 1
}
