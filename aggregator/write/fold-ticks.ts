/** Fold: ticks of new blocks into the open candles in memory, and each candle that changed into a row. */
import type { ClickHouseClient } from '@clickhouse/client'
import { ColumnMemory } from '../../ingest/columns/column-memory.ts'
import type { SortedTicks } from '../../ingest/columns/sorted-ticks.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { Resolution } from '../candles/candle.ts'
import { CandleColumns } from '../candles/candle-columns.ts'
import { candleBlock } from '../candles/candle-rows.ts'
import type { Bucket, OpenCandles } from '../candles/open-candles.ts'
import type { TouchedPool } from '../candles/recompute.ts'
import { insertNative } from '../store/store.ts'
import type { VersionedContent } from './rows.ts'

/** A cache that holds more candles than this reads them from the tables. */
const MAX_REPORTED_BUCKETS = 2_000

export type FoldedTicks = {
  /** All candles that changed, of the pools that memory holds complete. */
  candles: CandleColumns
  /** Each pool once: `candles` names them by their place. */
  pools: readonly PoolId[]
  /** Pools whose open candles memory lacks: `completeCandles` has ClickHouse recompute them. */
  incomplete: readonly PoolId[]
  /** The candles as values; undefined where some are incomplete, or there are more than `MAX_REPORTED_BUCKETS`. */
  buckets: readonly Bucket[] | undefined
  /** Number of ticks added to candles, and of ticks of incomplete pools. */
  ticks: number
  /** Version of `candles`; recomputed candles have a higher one. */
  version: bigint
}

/** Changes `open`: after a failure of any later step the caller has to invalidate it. */
export function foldTicks(sorted: SortedTicks, open: OpenCandles, version: bigint): FoldedTicks {
  const pools = sorted.groups.map(({ pool }) => pool)
  const candles = new CandleColumns(sorted.order.length * CANDLES_PER_TICK)
  const { incomplete, ticks } = open.fold(sorted, candles)
  const isReported = incomplete.length === 0 && candles.length <= MAX_REPORTED_BUCKETS
  return { candles, pools, incomplete, buckets: isReported ? bucketsOf(candles, pools) : undefined, ticks, version }
}

/** A first guess: each resolution has one more at the most. */
const CANDLES_PER_TICK = 3

/** The rows as values. */
export function bucketsOf(candles: CandleColumns, pools: readonly PoolId[]): Bucket[] {
  const { pool, resolution, start } = candles.arrays
  return Array.from({ length: candles.length }, (_, row) => ({
    pool: pools[pool[row] ?? 0] as PoolId,
    resolution: resolution[row] as Resolution,
    start: start[row] ?? 0,
    candle: candles.candleAt(row),
  }))
}

/** Releases the memory of the candles once they are stored. */
export async function insertFolded(client: ClickHouseClient, network: NetworkName, folded: FoldedTicks): Promise<void> {
  const { candles, pools, version } = folded
  const memory = new ColumnMemory()
  await insertNative(client, 'candles', candleBlock(network, candles, pools, version, memory))
  memory.release()
  candles.release()
}

/** Pools with ticks, liquidity changes or balances in these blocks. */
export function touchedPools({ blocks, ticks }: VersionedContent): TouchedPool[] {
  const touched = new Map<PoolId, TouchedPool>()
  const touch = (pool: PoolId, second: UnixSeconds) => {
    const known = touched.get(pool)
    if (known) {
      known.first = Math.min(known.first, second)
      known.last = Math.max(known.last, second)
    } else touched.set(pool, { pool, first: second, last: second })
  }
  for (const { block } of blocks) {
    for (const things of [block.liquidity, block.balances]) for (const { pool } of things) touch(pool, block.timestamp)
  }
  for (let row = 0; row < ticks.length; row++) touch(ticks.pools[ticks.pool[row] ?? 0] as PoolId, ticks.time[row] ?? 0)
  return [...touched.values()]
}
