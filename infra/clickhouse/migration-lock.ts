/** One migrating process at a time, without Keeper: of several that create the same table, ClickHouse lets one succeed. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { ask } from '../../aggregator/store/store.ts'

/** After this without a beat the holder is taken for dead. Statements are repeatable, so a holder that was wrongly given up does no harm. */
const STALE_SECONDS = 20
const HEARTBEAT_MS = 4_000
const TRY_MS = 100

/** `work` may take as long as it does: until it ends, the lock is renewed. */
export async function withMigrationLock<T>(
  client: ClickHouseClient,
  work: () => Promise<T>,
  { beatMs = HEARTBEAT_MS } = {},
): Promise<T> {
  const holder = randomUUID()
  while (!(await acquire(client, holder))) {
    await dropIfStale(client)
    await sleep(TRY_MS)
  }
  const done = new AbortController()
  const beating = sendHeartbeats(client, holder, beatMs, done.signal)
  try {
    return await work()
  } finally {
    done.abort()
    await beating
    if (await isHeldBy(client, holder)) await client.command({ query: DROP })
  }
}

const DROP = 'DROP TABLE IF EXISTS migrations_lock SYNC'

async function acquire(client: ClickHouseClient, holder: string): Promise<boolean> {
  try {
    await client.command({
      query: `CREATE TABLE migrations_lock (held UInt8) ENGINE = TinyLog COMMENT '${holder}'`,
    })
    return true
  } catch (error) {
    if (error instanceof ClickHouseError && error.type === 'TABLE_ALREADY_EXISTS') return false
    throw error
  }
}

/** A statement that changes nothing but the time at which the table was last changed. */
async function sendHeartbeats(
  client: ClickHouseClient,
  holder: string,
  everyMs: number,
  done: AbortSignal,
): Promise<void> {
  for (;;) {
    await sleep(everyMs, undefined, { signal: done, ref: false }).catch(() => undefined)
    if (done.aborted) return
    try {
      if (!(await isHeldBy(client, holder))) return
      await client.command({ query: `ALTER TABLE migrations_lock MODIFY COMMENT '${holder}'` })
    } catch {
      // The statement under way fails for the same reason, and says it.
    }
  }
}

/** A holder that was given up must not drop the lock of the next one. */
async function isHeldBy(client: ClickHouseClient, holder: string): Promise<boolean> {
  const query = `SELECT 1 FROM system.tables
    WHERE database = currentDatabase() AND name = 'migrations_lock' AND comment = {holder:String}`
  return (await ask(client, query, { holder })).length > 0
}

async function dropIfStale(client: ClickHouseClient): Promise<void> {
  const query = `SELECT name FROM system.tables
    WHERE database = currentDatabase() AND name = 'migrations_lock'
      AND metadata_modification_time < now() - {stale: UInt32}`
  const rows = await ask(client, query, { stale: STALE_SECONDS })
  if (rows.length > 0) await client.command({ query: DROP })
}
