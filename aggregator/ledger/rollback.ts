/** A rollback: the tables as they were at an older block. The ledger shrinks first, so that a crash leaves nothing that looks whole. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { recordChanges } from '../candles/changes.ts'
import { type RecomputeContext, recompute, scopeOf, type TouchedPool } from '../candles/recompute.ts'
import { poolGroups } from '../store/pool-groups.ts'
import { ask, loadSql, run } from '../store/store.ts'
import { tombstoneRows } from '../store/tombstone-rows.ts'
import { FINAL_HISTORY, type Version } from '../store/version.ts'
import type { LedgerObserver } from './observer.ts'
import { shrinkLedger } from './shrink-ledger.ts'

const touched = loadSql(import.meta.url, './touched.sql')
const restoreBalanceHours = loadSql(import.meta.url, './restore_balance_hours.sql')

export type RollbackOptions = {
  network: NetworkName
  /** The block to go back to; everything above it goes. Block −1 at time 0: everything. */
  to: { number: number; timestamp: number }
  /** Version of the tombstones: only rows of lower versions get one. */
  version: Version
  recomputeContext: RecomputeContext
  /** More pools whose candles are recomputed. */
  unverified?: readonly TouchedPool[]
  observer?: Pick<LedgerObserver, 'recomputed'> | undefined
}

/** Returns the pools that lost or may have lost ticks. May be repeated after a failure at any statement. */
export async function rollBack(client: ClickHouseClient, options: RollbackOptions): Promise<PoolId[]> {
  const { network, to, version, recomputeContext, unverified = [], observer } = options
  const above = { network, block: to.number, version: version.toString() }
  const ofTicks = { ...above, since: to.timestamp }
  const rows = { network, first: to.number + 1, below: version, tombstone: version }
  await shrinkLedger(client, { network, block: to.number, version }, recomputeContext.versions)
  const traded = await ask<TouchedPool>(client, touched, { ...ofTicks, final: FINAL_HISTORY.toString() })
  const pools = unverified.concat(traded)
  for (const group of poolGroups(traded.map(({ pool }) => pool)))
    await tombstoneRows(client, { table: 'ticks', ...rows, pools: group, since: to.timestamp })
  for (const table of ['pools', 'liquidity_changes'] as const) {
    const found = await ask<{ pool: PoolId }>(
      client,
      `SELECT DISTINCT pool FROM ${table}
       WHERE network = {network:String} AND block > {block:Int64} AND version < {version:UInt64}`,
      above,
    )
    for (const group of poolGroups(found.map(({ pool }) => pool)))
      await tombstoneRows(client, { table, ...rows, pools: group })
  }
  await run(client, restoreBalanceHours, ofTicks)
  await recompute(client, network, scopeOf(pools), recomputeContext)
  await observer?.recomputed(pools)
  await recordChanges(client, network, pools, { sequence: recomputeContext.versions.next() })
  return pools.map(({ pool }) => pool)
}
