/** Brings changed buckets into the cached chunks: from memory where the writer is this process, else by one query for up to 1,000 pools. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Bucket } from '../../../aggregator/candles/open-candles.ts'
import type { TouchedPool } from '../../../aggregator/candles/recompute.ts'
import { pieces } from '../../../ingest/lib/pieces.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { MAX_POOLS_PER_QUERY, queryBytes, readSql } from '../../lib/store.ts'
import { bucketOf } from '../../query/interval.ts'
import { listingKey } from '../model/listing.ts'
import type { BucketCache } from './bucket-cache.ts'
import { rowOf } from './bucket-rows.ts'
import { groupRows } from './group-rows.ts'

const CHANGED = readSql(new URL('./changed-buckets.sql', import.meta.url))

/** A change that touches more time than this evicts its chunks instead of reading them: a backfill or an overwrite. */
const MAX_REFRESH_SECONDS = 3_600

/** The candles of the touched time were written under `version` or a later one. */
export type PoolChange = TouchedPool & { version: bigint }

/** Pools without cached chunks are skipped. */
export type CacheRefresh = {
  put(network: NetworkName, buckets: readonly Bucket[]): void
  readChanged(network: NetworkName, changes: ReadonlyMap<PoolId, PoolChange>): Promise<void>
}

export function openCacheRefresh(reader: ClickHouseClient, cache: BucketCache): CacheRefresh {
  function put(network: NetworkName, buckets: readonly Bucket[]): void {
    const queriedAt = cache.nextQueryNumber()
    for (const bucket of buckets) {
      const { pool, resolution } = bucket
      const key = listingKey(network, pool)
      if (!cache.has(key)) continue
      cache.update({ key, resolution, rows: rowOf(bucket), queriedAt })
    }
  }

  async function readChanged(network: NetworkName, changes: ReadonlyMap<PoolId, PoolChange>): Promise<void> {
    const narrow: PoolId[] = []
    let [first, last] = [Number.POSITIVE_INFINITY, 0]
    let version: bigint | undefined
    for (const [pool, change] of changes) {
      if (!cache.has(listingKey(network, pool))) continue
      const widest = Math.max(last, change.last) - Math.min(first, change.first)
      if (widest > MAX_REFRESH_SECONDS) {
        cache.evict(listingKey(network, pool), { from: bucketOf(change.first, 86_400), to: change.last + 1 })
        continue
      }
      narrow.push(pool)
      first = Math.min(first, change.first)
      last = Math.max(last, change.last)
      if (version === undefined || change.version < version) version = change.version
    }
    const groups = pieces(narrow, MAX_POOLS_PER_QUERY)
    await Promise.all(groups.map((pools) => readGroup(network, pools, { first, last, version: `${version}` })))
  }

  async function readGroup(
    network: NetworkName,
    pools: readonly PoolId[],
    since: { first: UnixSeconds; last: UnixSeconds; version: string },
  ): Promise<void> {
    const queriedAt = cache.nextQueryNumber()
    const resolutions = cache.resolutions(pools.map((pool) => listingKey(network, pool)))
    if (resolutions.length === 0) return
    const bytes = await queryBytes(reader, CHANGED, { network, pools, resolutions, ...since })
    const rows = groupRows(bytes, { untraded: true })
    for (const [place, pool] of pools.entries()) {
      for (const resolution of resolutions) {
        cache.update({ key: listingKey(network, pool), resolution, rows: rows({ place, resolution }), queriedAt })
      }
    }
  }

  return { put, readChanged }
}
