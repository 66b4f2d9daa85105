/** Candles as rows: encoded by the fold, and read back where ClickHouse recomputed them. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { askGroups, poolGroups } from '../store/pool-groups.ts'
import type { RowBinary } from '../store/row-binary.ts'
import { ask, loadSql } from '../store/store.ts'
import type { Prices, Resolution } from './candle.ts'
import type { Bucket } from './open-candles.ts'

const openBuckets = loadSql(import.meta.url, './open_candles.sql')

export function candleRow(out: RowBinary, network: NetworkName, bucket: Bucket, version: bigint): void {
  const { execution, spot, volume0, volume1, volumeUsdMicros, trades } = bucket.candle
  out.string(network).string(bucket.pool).uint32(bucket.resolution).uint32(bucket.start)
  for (const { open, high, low, close } of [execution, spot])
    out.float64(open).float64(high).float64(low).float64(close)
  out.integer(volume0, 256).integer(volume1, 256).integer(volumeUsdMicros, 256).uint64(trades).integer(version, 128)
}

/** A row of `candles` as JSON. */
export type CandleColumns = {
  pool: PoolId
  resolution: Resolution
  start: UnixSeconds
  volume0: string
  volume1: string
  volume_usd_micros: string
  trades: number | string
} & Prices &
  Record<`spot_${keyof Prices}`, number>

/** For each pool the buckets that hold `second`. */
export async function readOpenCandles(
  client: ClickHouseClient,
  network: NetworkName,
  pools: readonly PoolId[],
  second: UnixSeconds,
): Promise<Bucket[]> {
  const rows = await askGroups(poolGroups(pools), (pools) =>
    ask<CandleColumns>(client, openBuckets, { network, pools, second }),
  )
  return rows.map(toBucket)
}

export function toBucket({ pool, resolution, start, ...row }: CandleColumns): Bucket {
  return {
    pool,
    resolution,
    start,
    candle: {
      execution: { open: row.open, high: row.high, low: row.low, close: row.close },
      spot: { open: row.spot_open, high: row.spot_high, low: row.spot_low, close: row.spot_close },
      volume0: BigInt(row.volume0),
      volume1: BigInt(row.volume1),
      volumeUsdMicros: BigInt(row.volume_usd_micros),
      trades: Number(row.trades),
    },
  }
}
