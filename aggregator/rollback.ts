/** A rollback: the tables as they were at an older block. The ledger shrinks first, so that a crash leaves nothing that looks whole. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../ingest/network.ts'
import type { PoolId } from '../ingest/pool.ts'
import { recordChanges } from './changes.ts'
import { type Remaking, recompute, scopeOf, type Touched } from './recompute.ts'
import { ask, loadSql, run } from './store.ts'
import type { Version } from './version.ts'

const touched = loadSql(import.meta.url, './sql/touched.sql')
const buryBlocks = loadSql(import.meta.url, './sql/bury_blocks.sql')
const restoreBalanceHours = loadSql(import.meta.url, './sql/restore_balance_hours.sql')
const buryRest = ['ticks', 'pools', 'liquidity_changes'].map((table) =>
  loadSql(import.meta.url, `./sql/bury_${table}.sql`),
)

export type RollbackOptions = {
  network: NetworkName
  /** The block to go back to; everything above it goes. Block −1 at time 0: everything. */
  to: { number: number; timestamp: number }
  /** Of the tombstones: only rows of lower versions are buried. */
  version: Version
  remaking: Remaking
  /** Whose candles are in doubt besides. */
  doubted?: readonly Touched[]
}

/** Returns the pools that lost or may have lost ticks. May be repeated after a failure at any statement. */
export async function rollBack(client: ClickHouseClient, options: RollbackOptions): Promise<PoolId[]> {
  const { network, to, remaking, doubted = [] } = options
  const above = { network, block: to.number, since: to.timestamp, version: options.version.toString() }
  await run(client, buryBlocks, above)
  const pools = [...doubted, ...(await ask<Touched>(client, touched, above))]
  for (const bury of buryRest) await run(client, bury, above)
  await run(client, restoreBalanceHours, above)
  await recompute(client, network, scopeOf(pools), remaking)
  await recordChanges(client, network, pools, { sequence: remaking.versions.next() })
  return pools.map(({ pool }) => pool)
}
