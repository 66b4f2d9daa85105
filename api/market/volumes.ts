/** What pools traded in a stretch of time. */
import type { ClickHouseClient } from '@clickhouse/client'
import { groupBy } from '../group.ts'
import { ask, readSql } from '../store.ts'
import { type Listing, listingKey } from './listing.ts'
import { clampTime, type Range, windowsOf } from './windows.ts'

const VOLUMES = readSql(new URL('./volumes.sql', import.meta.url))

export type Volume = { trades: number; usd: number }

const NOTHING: Volume = { trades: 0, usd: 0 }

/** In the order of `listings`. */
export async function readVolumes(
  reader: ClickHouseClient,
  listings: readonly Listing[],
  range: Range,
): Promise<readonly Volume[]> {
  const windows = windowsOf({ from: clampTime(range.from), to: clampTime(range.to) })
  const byNetwork = groupBy(listings, (listing) => listing.network)
  const volumes = new Map<string, Volume>()
  await Promise.all(
    [...byNetwork].map(async ([network, own]) => {
      const rows = await ask<{ pool: string; trades: string; volume_usd: string }>(reader, VOLUMES, {
        network: network.name,
        pools: own.map((listing) => listing.pool.id),
        ...windows,
      })
      for (const row of rows)
        volumes.set(`${network.name}:${row.pool}`, { trades: Number(row.trades), usd: Number(row.volume_usd) })
    }),
  )
  return listings.map((listing) => volumes.get(listingKey(listing.network.name, listing.pool.id)) ?? NOTHING)
}
