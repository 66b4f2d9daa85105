/** A rewind: a network as it was at an older block, final or not, because the chain itself was replaced above it. */

import type { ClickHouseClient } from '@clickhouse/client'
import { pause } from '../../ingest/lib/wait.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { RecomputeContext, TouchedPool } from '../candles/recompute.ts'
import { readRecords, writeRecord } from '../history/audit-record.ts'
import { lowerCoverage } from '../history/coverage.ts'
import { failJob, openJobs } from '../jobs/job.ts'
import type { LedgerObserver } from '../ledger/observer.ts'
import { rollBack } from '../ledger/rollback.ts'
import { shrinkLedger } from '../ledger/shrink-ledger.ts'
import type { LedgerBlock } from '../ledger/stored-blocks.ts'
import { ask, loadSql, type QueryParameters, run } from '../store/store.ts'
import type { Version } from '../store/version.ts'

const candlesSince = loadSql(import.meta.url, './candles_since.sql')

const POLL_MS = 100

export type RewindOptions = {
  network: NetworkName
  /** The block that becomes the tip. */
  to: LedgerBlock
  /** Version of the ledger's tombstones: above all stored ones, below all later ones. */
  version: Version
  recomputeContext: RecomputeContext
  /** Where the tables themselves are. */
  shards: readonly ClickHouseClient[]
  signal: AbortSignal
  observer: Pick<LedgerObserver, 'recomputed'>
}

/**
 * The ledger shrinks first, then coverage and audits, then rows are deleted, and candles are recomputed last. Rows get no
 * tombstones: a tombstone above final history would beat the rows of the new branch as well. May be repeated after a failure at any
 * statement: pools are found by their candles, which are the last to change.
 */
export async function rewind(client: ClickHouseClient, options: RewindOptions): Promise<PoolId[]> {
  const { network, to, version, recomputeContext, shards, signal, observer } = options
  await shrinkLedger(client, { network, block: to.number, version }, recomputeContext.versions)
  for (const job of await openJobs(client, network, 'backfill')) {
    if (job.to > to.number)
      await failJob(client, job, `The network was rewound to block ${to.number}: ask for it again.`)
  }
  await lowerCoverage(client, shards, network, to)
  await lowerAudits(client, network, to.number)
  const unverified = await ask<TouchedPool>(client, candlesSince, { network, since: to.timestamp })
  const above = { network, block: to.number, since: to.timestamp }
  for (const shard of shards) {
    for (const table of ['ticks', 'liquidity_changes', 'pools']) {
      const where =
        "network = {network:String} AND block > {block:UInt64} AND time >= toDateTime({since:UInt32}, 'UTC')"
      await deleteRows(shard, table, where, above, signal)
    }
    for (const table of ['pools_by_token', 'pool_balances', 'pool_balance_hours']) {
      await deleteRows(shard, table, 'network = {network:String} AND block > {block:UInt64}', above, signal)
    }
  }
  return rollBack(client, { network, to, version, recomputeContext, unverified, observer })
}

/** Blocks above `to` are to be audited again. Their earlier counts stay. */
async function lowerAudits(client: ClickHouseClient, network: NetworkName, to: number): Promise<void> {
  for (const record of await readRecords(client, network)) {
    const isBelow = (block: number) => block <= to
    const next = Math.max(record.first, Math.min(record.next, to + 1))
    const [undecided, repairing] = [record.undecided.filter(isBelow), record.repairing.filter(isBelow)]
    const pending = undecided.length + repairing.length
    if (next === record.next && pending === record.undecided.length + record.repairing.length) continue
    await writeRecord(client, { ...record, next, undecided, repairing })
  }
}

/** Deletes rows where they are: of these no tombstone may be left. Large tables take long, so that it is watched instead of waited for by one request. Throws where ClickHouse can't do it, or the signal aborts. */
async function deleteRows(
  shard: ClickHouseClient,
  table: string,
  where: string,
  parameters: QueryParameters,
  signal: AbortSignal,
): Promise<void> {
  const [found] = await ask(shard, `SELECT 1 FROM ${table} WHERE ${where} LIMIT 1`, parameters)
  if (!found) return
  await run(shard, `DELETE FROM ${table} WHERE ${where} SETTINGS lightweight_deletes_sync = 0`, parameters)
  for (;;) {
    const [mutation] = await ask<{ failure: string }>(
      shard,
      `SELECT latest_fail_reason AS failure FROM system.mutations
       WHERE database = currentDatabase() AND table = {table:String} AND NOT is_done ORDER BY failure DESC LIMIT 1`,
      { table },
    )
    if (!mutation) return
    if (mutation.failure !== '') throw new Error(`Rows of ${table} can't be deleted: ${mutation.failure}`)
    await pause(POLL_MS, signal)
    signal.throwIfAborted()
  }
}
