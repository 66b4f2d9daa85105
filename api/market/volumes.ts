/** What pools traded in a stretch of time. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { PoolId } from '../../ingest/pool.ts'
import { chunksOf, groupBy } from '../group.ts'
import { ask, POOLS_PER_QUESTION, readSql } from '../store.ts'
import { type Listing, listingKey } from './listing.ts'
import { clampTime, type Range, windowsOf } from './windows.ts'

const VOLUMES = readSql(new URL('./volumes.sql', import.meta.url))

export type Volume = { trades: number; usd: number }

type VolumeRow = { pool: PoolId; trades: string; volume_usd: string }

const NOTHING: Volume = { trades: 0, usd: 0 }

/** In the order of `listings`. */
export async function readVolumes(
  reader: ClickHouseClient,
  listings: readonly Listing[],
  range: Range,
): Promise<readonly Volume[]> {
  const windows = windowsOf({ from: clampTime(range.from), to: clampTime(range.to) })
  const volumes = new Map<string, Volume>()
  const chunks = [...groupBy(listings, (listing) => listing.network)].flatMap(([network, own]) =>
    chunksOf(own, POOLS_PER_QUESTION).map((chunk) => ({
      network: network.name,
      pools: chunk.map(({ pool }) => pool.id),
    })),
  )
  await Promise.all(
    chunks.map(async ({ network, pools }) => {
      const rows = await ask<VolumeRow>(reader, VOLUMES, { network, pools, ...windows })
      for (const row of rows)
        volumes.set(listingKey(network, row.pool), { trades: Number(row.trades), usd: Number(row.volume_usd) })
    }),
  )
  return listings.map((listing) => volumes.get(listingKey(listing.network.name, listing.pool.id)) ?? NOTHING)
}
