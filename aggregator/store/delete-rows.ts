/** Deleting rows where they are: for what no tombstone may be left of. */
import type { ClickHouseClient } from '@clickhouse/client'
import { pause } from '../../ingest/lib/wait.ts'
import { ask, type QueryParameters, run } from './store.ts'

const POLL_MS = 100

/** Large tables take long, so that it is watched instead of waited for by one request. Throws where ClickHouse can't do it, or the signal aborts. */
export async function deleteRows(
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
