/** Changes: which buckets a write touched, for caches in this process and, by the table `changes`, in others. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { BlockRef, UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { insertRows } from '../store/store.ts'
import type { Bucket } from './open-candles.ts'
import type { TouchedPool } from './recompute.ts'

/** Notification within a process: a flush, or (without `flushed`) any other write. */
export type WriteEvent = {
  network: NetworkName
  flushed?: FlushEvent
}

/** Sent once its ticks and candles are stored, and again once it is on the ledger. */
export type FlushEvent = {
  isRecorded: boolean
  /** `finalized`: as in a block message. */
  tip: BlockRef & { timestamp: UnixSeconds; finalized: number }
  touched: readonly TouchedPool[]
  /** Pools whose balances were stored; a balance counts once its block is on the ledger. */
  balances: readonly PoolId[]
  /** All candles that changed, as stored; undefined where they are not in memory. */
  buckets: readonly Bucket[] | undefined
  /** Version of the rows of `changes`. */
  sequence: bigint
  /** Lower bound of the candles' versions. */
  version: bigint
}

/** A change that no candle shows, such as removed liquidity, has a row without a pool. */
const UNSPECIFIED = [{ pool: '', first: 0, last: 0 }]

/**
 * Call it once the candles are stored, and before the ledger has the `block` that they came with, if any. `sequence` is the next version of
 * the writer's epoch; the candles have `version` or a higher one.
 */
export async function recordChanges(
  client: ClickHouseClient,
  network: NetworkName,
  touched: readonly TouchedPool[],
  { sequence, version = 0n, block }: { sequence: bigint; version?: bigint; block?: number },
): Promise<void> {
  // A new block shows on the ledger itself.
  const listed = touched.length > 0 || block !== undefined ? touched : UNSPECIFIED
  // The server's clock sets `written`: rows of an hour ago expire at once, and the clock of this process may be that far behind.
  await insertRows(client, 'changes (network, sequence, pool, first, last, block, version)', (out) => {
    for (const { pool, first, last } of listed) {
      out.string(network).integer(sequence, 128).string(pool).uint32(first).uint32(last)
      out.uint64(block ?? 0).integer(version, 128)
    }
  })
}
