/** Durability: whether a write is on the disk when it is acknowledged, so that a power cut loses no row that the ledger makes valid. */
import type { ClickHouseClient } from '@clickhouse/client'
import { ask, run } from './store.ts'

/** Writes that are synced before they are acknowledged. `metadata`: the market's rows are synced by checkpoints. */
export type Synced = 'every write' | 'metadata' | 'none'

/** The ledger, and the tables whose rows it makes valid. */
const MARKET = [
  'ticks',
  'candles',
  'pools',
  'pools_by_token',
  'tokens_by_symbol',
  'liquidity_changes',
  'pool_balances',
  'pool_balance_hours',
  'pool_bounds',
  'blocks',
]
/** Records that make synced rows valid, numbers that must not be used twice, and checkpoints. */
const METADATA = ['coverage', 'pool_filters', 'owners', 'jobs', 'settled']

const TABLES: Readonly<Record<Synced, readonly string[]>> = {
  'every write': [...MARKET, ...METADATA],
  metadata: METADATA,
  none: [],
}

/** Sets the tables' fsync settings; sends no ALTER where they are set. With `none`, only a crash of the processes is safe. */
export async function applyDurability(client: ClickHouseClient, synced: Synced): Promise<void> {
  const rows = await ask<{ name: string; isSynced: 0 | 1 }>(
    client,
    `SELECT name, position(engine_full, 'fsync_after_insert = 1') > 0 AS isSynced FROM system.tables
     WHERE database = currentDatabase() AND name IN {tables:Array(String)}`,
    { tables: [...MARKET, ...METADATA] },
  )
  for (const { name, isSynced } of rows) {
    const setting = Number(TABLES[synced].includes(name))
    if (setting === isSynced) continue
    await run(
      client,
      `ALTER TABLE ${name} MODIFY SETTING fsync_after_insert = ${setting}, fsync_part_directory = ${setting}`,
      {},
    )
  }
}
