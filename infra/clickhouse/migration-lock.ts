/** One migrating process at a time, without Keeper: of several that create the same table, ClickHouse lets one succeed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'

/** After this the holder is taken for dead. Statements are repeatable, so a slow holder that was wrongly given up does no harm. */
const STALE_SECONDS = 20

export async function withMigrationLock<T>(client: ClickHouseClient, work: () => Promise<T>): Promise<T> {
  while (!(await acquire(client))) {
    await dropIfStale(client)
    await sleep(100)
  }
  try {
    return await work()
  } finally {
    await client.command({ query: 'DROP TABLE IF EXISTS migrations_lock SYNC' })
  }
}

async function acquire(client: ClickHouseClient): Promise<boolean> {
  try {
    await client.command({ query: 'CREATE TABLE migrations_lock (held UInt8) ENGINE = TinyLog' })
    return true
  } catch (error) {
    if (error instanceof ClickHouseError && error.type === 'TABLE_ALREADY_EXISTS') return false
    throw error
  }
}

async function dropIfStale(client: ClickHouseClient): Promise<void> {
  const result = await client.query({
    query: `
      SELECT name FROM system.tables
      WHERE database = currentDatabase() AND name = 'migrations_lock'
        AND metadata_modification_time < now() - {stale: UInt32}`,
    query_params: { stale: STALE_SECONDS },
    format: 'JSONEachRow',
  })
  const rows = await result.json()
  if (rows.length > 0) await client.command({ query: 'DROP TABLE IF EXISTS migrations_lock SYNC' })
}
