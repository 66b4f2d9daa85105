/** Swaps of pools by side over the last 24 h, in one statement. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { MAX_POOLS_PER_QUERY, queryRows, readSql } from '../../lib/store.ts'
import { type Listing, listingKey } from '../model/listing.ts'

const SIDES = readSql(new URL('./sides.sql', import.meta.url))
const DAY = 86_400
/** Swaps that the statement reads at the most, by the counts of the candles: 300,000 take a quarter of a second. */
const MAX_SWAPS = 1_000_000

/** `buys`: the taker received the pool's first token. */
export type Sides = { buys: number; sells: number }
/** Without the pools that were not counted. */
export type SidesByPool = ReadonlyMap<Listing, Sides>

export const NO_SIDES: Sides = { buys: 0, sells: 0 }

type Traded = { listing: Listing; trades: number; volumeUsd: number }

/** The pools with most volume count first, as many as the bounds allow. */
export async function readSides(
  reader: ClickHouseClient,
  pools: readonly Traded[],
  now: UnixSeconds,
): Promise<SidesByPool> {
  const counted = withinBounds(pools)
  if (counted.length === 0) return new Map()
  const rows = await queryRows<Sides & { network: NetworkName; pool: PoolId }>(reader, SIDES, {
    networks: counted.map(({ network }) => network.name),
    pools: counted.map(({ pool }) => pool.id),
    from: now - DAY,
    to: now + 1,
  })
  const byKey = new Map(rows.map(({ network, pool, ...sides }) => [listingKey(network, pool), sides]))
  return new Map(
    counted.map((listing) => [listing, byKey.get(listingKey(listing.network.name, listing.pool.id)) ?? NO_SIDES]),
  )
}

function withinBounds(pools: readonly Traded[]): readonly Listing[] {
  let swaps = 0
  return pools
    .filter(({ trades }) => trades > 0)
    .toSorted((one, other) => other.volumeUsd - one.volumeUsd)
    .slice(0, MAX_POOLS_PER_QUERY)
    .filter(({ trades }) => {
      const fits = swaps + trades <= MAX_SWAPS
      if (fits) swaps += trades
      return fits
    })
    .map(({ listing }) => listing)
}
