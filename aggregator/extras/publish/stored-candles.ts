/** Stored candles as they are published. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { bucketStart } from '../../candles/candle.ts'
import { type CandleRow, toBucket } from '../../candles/candle-rows.ts'
import type { Bucket } from '../../candles/open-candles.ts'
import { mergeTouched, scopeOf, type TouchedPool } from '../../candles/recompute.ts'
import { ask, loadSql } from '../../store/store.ts'
import type { VersionedTick } from './publication.ts'

const storedCandles = loadSql(import.meta.url, './stored_candles.sql')
const openAt = loadSql(import.meta.url, './open_at.sql')

/** A bucket as it is stored; `trades` is 0 where it lost all of its ticks. */
export type VersionedBucket = { bucket: Bucket; version: bigint }

export type BucketKey = Pick<Bucket, 'pool' | 'resolution' | 'start'>

const POOLS_PER_QUERY = 100

/** Reads the stored buckets in which their pool changed. Pools that changed at about the same time share a query. A pool may be named several times. */
export async function readStoredCandles(
  client: ClickHouseClient,
  network: NetworkName,
  touched: readonly TouchedPool[],
): Promise<VersionedBucket[]> {
  const byTime = [...mergeTouched(touched)].sort((one, other) => one.first - other.first)
  const found: VersionedBucket[] = []
  for (let start = 0; start < byTime.length; start += POOLS_PER_QUERY) {
    const group = byTime.slice(start, start + POOLS_PER_QUERY)
    const { pools, first: since, last: until } = scopeOf(group)
    const touchedBy = new Map(group.map((pool) => [pool.pool, pool]))
    const rows = await ask<CandleRow & { version: string }>(client, storedCandles, { network, pools, since, until })
    for (const row of rows) {
      const { first = 0, last = 0 } = touchedBy.get(row.pool) ?? {}
      if (row.start < bucketStart(first, row.resolution) || row.start > last) continue
      found.push({ bucket: toBucket(row), version: BigInt(row.version) })
    }
  }
  return found
}

/** Buckets with trades that hold this second. */
export function readBucketsAt(
  client: ClickHouseClient,
  network: NetworkName,
  second: UnixSeconds,
): Promise<BucketKey[]> {
  return ask<BucketKey>(client, openAt, { network, second })
}

/** For each pool the first and last second of its ticks. */
export function touchedBy(ticks: readonly VersionedTick[]): TouchedPool[] {
  const touched = new Map<string, TouchedPool>()
  for (const { block, tick } of ticks) {
    const { first, last } = touched.get(tick.pool) ?? { first: block.timestamp, last: block.timestamp }
    touched.set(tick.pool, {
      pool: tick.pool,
      first: Math.min(first, block.timestamp),
      last: Math.max(last, block.timestamp),
    })
  }
  return [...touched.values()]
}
