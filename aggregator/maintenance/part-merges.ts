/**
 * Merges the parts that history leaves behind. A first question opens each part of a table, and the engine's own choice of merges
 * (`merge_selector_base`) is set for live blocks: with few parts kept, it would rewrite megabytes with every few blocks.
 */
import type { ClickHouseClient } from '@clickhouse/client'
import { ask, loadSql } from '../store/store.ts'

const CROWDED = loadSql(import.meta.url, './crowded_tables.sql')

const MB = 1_000_000

export type MergeOptions = {
  /** The engine merges smaller parts, which live blocks leave, and larger parts, which take long. */
  leastBytes?: number
  mostBytes?: number
  /** A partition with this many parts is not merged further. */
  parts?: number
  /** Nothing is merged until so long after an insert of history. */
  quietSeconds?: number
  signal: AbortSignal
}

/** An insert of this many rows is history. */
const HISTORY_ROWS = 5_000

/**
 * One merge where a table has too many parts; false where none has. `client` is of the server that has the tables. Where the statement is
 * cut off, the server continues the merge, and no other one is begun meanwhile.
 */
export async function mergeParts(client: ClickHouseClient, options: MergeOptions): Promise<boolean> {
  const { leastBytes = 4 * MB, mostBytes = 1_000 * MB, parts = 3, quietSeconds = 30, signal } = options
  const [crowded] = await ask<{ table: string; partition: string }>(client, CROWDED, {
    least: leastBytes,
    most: mostBytes,
    parts,
    rows: HISTORY_ROWS,
    quiet: quietSeconds,
  })
  if (!crowded) return false
  const { table, partition } = crowded
  try {
    // OPTIMIZE picks the cheapest merge. Without disk space it throws.
    await client.command({
      query: `OPTIMIZE TABLE ${table} PARTITION ID '${partition}'`,
      clickhouse_settings: { optimize_throw_if_noop: 1 },
      abort_signal: signal,
    })
  } catch (error) {
    if (signal.aborted || !(await isMerging(client, table, leastBytes))) throw error
  }
  return true
}

async function isMerging(client: ClickHouseClient, table: string, least: number): Promise<boolean> {
  const query = `SELECT 1 FROM system.merges
     WHERE database = currentDatabase() AND table = {table:String} AND total_size_bytes_compressed >= {least:UInt64} LIMIT 1`
  return (await ask(client, query, { table, least })).length > 0
}
