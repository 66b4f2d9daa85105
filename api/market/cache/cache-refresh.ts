/** What has changed, into the candles that are held: handed over where it is at hand, else read from the tables. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Bucket } from '../../../aggregator/candles/open-candles.ts'
import type { TouchedPool } from '../../../aggregator/candles/recompute.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { chunksOf } from '../../lib/group.ts'
import { MAX_POOLS_PER_QUERY, queryBytes, readSql } from '../../lib/store.ts'
import { bucketOf } from '../../query/interval.ts'
import { listingKey } from '../model/listing.ts'
import type { BucketCache } from './bucket-cache.ts'
import { groupRows, rowOf } from './bucket-rows.ts'

const CHANGED = readSql(new URL('./changed-buckets.sql', import.meta.url))

/** What was written over more time than this is asked for again when it is needed. */
const NARROW_SECONDS = 3_600

/** Its candles were written under `version` or a later one. */
export type PoolChange = TouchedPool & { version: bigint }

/** Of pools of which nothing is held, nothing is taken. */
export type Renewal = {
  take(network: NetworkName, buckets: readonly Bucket[]): void
  renew(network: NetworkName, changes: ReadonlyMap<PoolId, PoolChange>): Promise<void>
}

export function renewalOf(reader: ClickHouseClient, cache: BucketCache): Renewal {
  function take(network: NetworkName, buckets: readonly Bucket[]): void {
    const askedAt = cache.nextQueryNumber()
    for (const bucket of buckets) {
      const { pool, resolution } = bucket
      const key = listingKey(network, pool)
      if (!cache.has(key)) continue
      cache.update({ key, resolution, rows: rowOf(bucket), queriedAt: askedAt })
    }
  }

  async function renew(network: NetworkName, changes: ReadonlyMap<PoolId, PoolChange>): Promise<void> {
    const narrow: [PoolId, PoolChange][] = []
    let [first, last] = [Number.POSITIVE_INFINITY, 0]
    let version: bigint | undefined
    for (const [pool, change] of changes) {
      if (!cache.has(listingKey(network, pool))) continue
      const widest = Math.max(last, change.last) - Math.min(first, change.first)
      if (widest > NARROW_SECONDS) {
        cache.evict(listingKey(network, pool), { from: bucketOf(change.first, 86_400), to: change.last + 1 })
        continue
      }
      narrow.push([pool, change])
      first = Math.min(first, change.first)
      last = Math.max(last, change.last)
      if (version === undefined || change.version < version) version = change.version
    }
    const groups = chunksOf(
      narrow.map(([pool]) => pool),
      MAX_POOLS_PER_QUERY,
    )
    await Promise.all(groups.map((pools) => refresh(network, pools, { first, last, version: `${version}` })))
  }

  async function refresh(
    network: NetworkName,
    pools: readonly PoolId[],
    since: { first: UnixSeconds; last: UnixSeconds; version: string },
  ): Promise<void> {
    const askedAt = cache.nextQueryNumber()
    const resolutions = cache.resolutions(pools.map((pool) => listingKey(network, pool)))
    if (resolutions.length === 0) return
    const rows = groupRows(await queryBytes(reader, CHANGED, { network, pools, resolutions, ...since }), {
      untraded: true,
    })
    for (const [place, pool] of pools.entries()) {
      for (const resolution of resolutions) {
        cache.update({
          key: listingKey(network, pool),
          resolution,
          rows: rows({ place, resolution }),
          queriedAt: askedAt,
        })
      }
    }
  }

  return { take, renew }
}
