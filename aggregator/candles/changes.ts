/** Changes: which buckets a write touched, told to whoever keeps some of them in memory. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { BlockRef, UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { insertRows } from '../store/store.ts'
import type { Bucket } from './open-candles.ts'
import type { TouchedPool } from './recompute.ts'

/** What a process hears of its own aggregator: what a flush has brought, or that something else was written. */
export type WriteEvent = {
  network: NetworkName
  flushed?: FlushEvent
}

/** Told once its ticks and candles are in the tables, and again once it is on the ledger. */
export type FlushEvent = {
  isRecorded: boolean
  tip: BlockRef & { timestamp: UnixSeconds }
  touched: readonly TouchedPool[]
  /** Pools of which balances were stored, which count for whoever finds their block on the ledger. */
  balances: readonly PoolId[]
  /** All that changed, as stored; absent where that is not at hand. */
  buckets: readonly Bucket[] | undefined
  /** Under which the changes are recorded. */
  sequence: bigint
  /** Of the candles, or less. */
  version: bigint
}

/** For what no candle shows, such as liquidity that went away: a row without a pool says that something changed. */
const UNSPECIFIED = [{ pool: '', first: 0, last: 0 }]

/**
 * Told once the candles are stored, and before the ledger shows the `block` that brought them, where one did. `sequence` is the next of
 * the owner's versions; the candles have `version` or a higher one.
 */
export async function recordChanges(
  client: ClickHouseClient,
  network: NetworkName,
  touched: readonly TouchedPool[],
  { sequence, version = 0n, block }: { sequence: bigint; version?: bigint; block?: number },
): Promise<void> {
  // The ledger itself shows that a block has come.
  const told = touched.length > 0 || block !== undefined ? touched : UNSPECIFIED
  await insertRows(client, 'changes', (out) => {
    for (const { pool, first, last } of told) {
      out.string(network).integer(sequence, 128).string(pool).uint32(first).uint32(last)
      out
        .uint32(Math.floor(Date.now() / 1000))
        .uint64(block ?? 0)
        .integer(version, 128)
    }
  })
}
