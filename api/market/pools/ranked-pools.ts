/** The pools of a pair in the order in which they are listed. */
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { decimalText } from '../../lib/decimal.ts'
import { NO_VOLUME } from '../cache/bucket-rows.ts'
import type { Listing } from '../model/listing.ts'
import { type DayPrice, type MarketStore, type PoolState, readDayPrice, readPoolStates } from './pool-state.ts'
import { readVolumes } from './volumes.ts'

const MAX_POOLS = 100
const DAY: UnixSeconds = 86_400

/** `volumeUsd`: decimal text, over the last 24 h. */
export type DayFigures = DayPrice & { volumeUsd: string }
export type RankedPool = PoolState & { day?: DayFigures }

/** At most 100, by the value that each row shows. `withDay`: with the figures of the 24 h before `now`. */
export async function readRankedPools(
  store: MarketStore,
  listings: readonly Listing[],
  { now, withDay }: { now: UnixSeconds; withDay: boolean },
): Promise<readonly RankedPool[]> {
  const states = (await readPoolStates(store, listings)).toSorted(byValue).slice(0, MAX_POOLS)
  if (!withDay) return states
  const days = await readDays(
    store,
    states.map(({ listing }) => listing),
    now,
  )
  return states.map((state, index) => ({ ...state, ...(days[index] && { day: days[index] }) }))
}

async function readDays(
  store: MarketStore,
  listings: readonly Listing[],
  now: UnixSeconds,
): Promise<readonly DayFigures[]> {
  const volumes = await readVolumes(store.cache, listings, { from: now - DAY, to: now + 1 })
  return Promise.all(
    listings.map(async (listing, index) => ({
      ...(await readDayPrice(store, listing, now)),
      volumeUsd: decimalText((volumes[index] ?? NO_VOLUME).usdMicros, 6),
    })),
  )
}

function byValue(one: PoolState, other: PoolState): number {
  if (one.valueUsd !== other.valueUsd) return other.valueUsd - one.valueUsd
  if (one.volumeUsd !== other.volumeUsd) return Number(other.volumeUsd) - Number(one.volumeUsd)
  return one.listing.pool.id < other.listing.pool.id ? -1 : 1
}
