/** Fold and encode: ticks of new blocks into the open candles in memory, and each candle that changed into a row. No statement is sent. */
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { candleRow } from '../candles/candle-rows.ts'
import type { Bucket, OpenCandles } from '../candles/open-candles.ts'
import type { TouchedPool } from '../candles/recompute.ts'
import { RowBinary } from '../store/row-binary.ts'
import type { VersionedBlock } from './rows.ts'

/** A cache that holds more candles than this reads them from the tables. */
const MAX_REPORTED_BUCKETS = 2_000

export type FoldedBlocks = {
  /** Rows of `candles`, of all pools that memory holds complete. */
  candles: RowBinary
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
export function foldBlocks(
  network: NetworkName,
  blocks: readonly VersionedBlock[],
  open: OpenCandles,
  version: bigint,
): FoldedBlocks {
  const candles = new RowBinary()
  const buckets: Bucket[] = []
  const { incomplete, ticks } = open.fold(
    blocks.map(({ block }) => block),
    (bucket) => {
      candleRow(candles, network, bucket, version)
      if (buckets.length <= MAX_REPORTED_BUCKETS) buckets.push(copyOf(bucket))
    },
  )
  const isReported = incomplete.length === 0 && buckets.length <= MAX_REPORTED_BUCKETS
  return { candles, incomplete, buckets: isReported ? buckets : undefined, ticks, version }
}

/** Pools with ticks, liquidity changes or balances in these blocks. */
export function touchedPools(blocks: readonly VersionedBlock[]): TouchedPool[] {
  const touched = new Map<PoolId, TouchedPool>()
  const touch = (pool: PoolId, second: UnixSeconds) => {
    const known = touched.get(pool)
    if (known) known.last = Math.max(known.last, second)
    else touched.set(pool, { pool, first: second, last: second })
  }
  for (const { block } of blocks) {
    for (const things of [block.ticks, block.liquidity, block.balances]) {
      for (const { pool } of things) touch(pool, block.timestamp)
    }
  }
  return [...touched.values()]
}

function copyOf({ pool, resolution, start, candle }: Bucket): Bucket {
  const { execution, spot } = candle
  return { pool, resolution, start, candle: { ...candle, execution: { ...execution }, spot: { ...spot } } }
}
