/** Durability: whether a write is on the disk when it is answered, so that a power cut takes nothing from below the ledger. */
import type { ClickHouseClient } from '@clickhouse/client'
import { ask, run } from './store.ts'

/** What the ledger vouches for, and the ledger itself; and whose numbers must not be given out again. */
const TABLES = [
  'ticks',
  'candles',
  'pools',
  'liquidity_changes',
  'pool_balances',
  'coverage',
  'blocks',
  'owners',
  'jobs',
]

/** Tells the tables; nothing is asked of them where nothing has changed. Without it only a crash of the processes is safe. */
export async function applyDurability(client: ClickHouseClient, fsync: boolean): Promise<void> {
  const rows = await ask<{ name: string }>(
    client,
    `SELECT name FROM system.tables
     WHERE database = currentDatabase() AND name IN {tables:Array(String)}
       AND (position(engine_full, 'fsync_after_insert = 1') > 0) != {fsync:Bool}`,
    { tables: TABLES, fsync: String(fsync) },
  )
  for (const { name } of rows) {
    const setting = Number(fsync)
    await run(
      client,
      `ALTER TABLE ${name} MODIFY SETTING fsync_after_insert = ${setting}, fsync_part_directory = ${setting}`,
      {},
    )
  }
}
