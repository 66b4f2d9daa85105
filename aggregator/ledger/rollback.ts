/** A rollback: the tables as they were at an older block. The ledger shrinks first, so that a crash leaves nothing that looks whole. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { recordChanges } from '../candles/changes.ts'
import { type RecomputeContext, recompute, scopeOf, type TouchedPool } from '../candles/recompute.ts'
import { poolGroups } from '../store/pool-groups.ts'
import { ask, loadSql, run } from '../store/store.ts'
import { FINAL_HISTORY, type Version } from '../store/version.ts'

const touched = loadSql(import.meta.url, './touched.sql')
const buryBlocks = loadSql(import.meta.url, './bury_blocks.sql')
const restoreBalanceHours = loadSql(import.meta.url, './restore_balance_hours.sql')
const buryTicks = loadSql(import.meta.url, './bury_ticks.sql')
const buryBesides = (['pools', 'liquidity_changes'] as const).map((table) => ({
  bury: loadSql(import.meta.url, `./bury_${table}.sql`),
  poolsAbove: `SELECT DISTINCT pool FROM ${table}
    WHERE network = {network:String} AND block > {block:Int64} AND version < {version:UInt64}`,
}))

export type RollbackOptions = {
  network: NetworkName
  /** The block to go back to; everything above it goes. Block −1 at time 0: everything. */
  to: { number: number; timestamp: number }
  /** Of the tombstones: only rows of lower versions are buried. */
  version: Version
  recomputeContext: RecomputeContext
  /** Whose candles are in doubt besides. */
  unverified?: readonly TouchedPool[]
}

/** Returns the pools that lost or may have lost ticks. May be repeated after a failure at any statement. */
export async function rollBack(client: ClickHouseClient, options: RollbackOptions): Promise<PoolId[]> {
  const { network, to, recomputeContext, unverified = [] } = options
  const above = { network, block: to.number, version: options.version.toString() }
  const ofTicks = { ...above, since: to.timestamp }
  await run(client, buryBlocks, above)
  const traded = await ask<TouchedPool>(client, touched, { ...ofTicks, final: FINAL_HISTORY.toString() })
  const pools = unverified.concat(traded)
  // FINAL reads all that the key allows: it is asked of the pools alone that have something there.
  for (const group of poolGroups(traded.map(({ pool }) => pool)))
    await run(client, buryTicks, { ...ofTicks, pools: group })
  for (const { bury, poolsAbove } of buryBesides) {
    const found = await ask<{ pool: PoolId }>(client, poolsAbove, above)
    for (const group of poolGroups(found.map(({ pool }) => pool))) await run(client, bury, { ...above, pools: group })
  }
  await run(client, restoreBalanceHours, ofTicks)
  await recompute(client, network, scopeOf(pools), recomputeContext)
  await recordChanges(client, network, pools, { sequence: recomputeContext.versions.next() })
  return pools.map(({ pool }) => pool)
}
