/** Tombstones: copies of live rows with a higher version and `is_deleted`, which a ReplacingMergeTree keeps instead of them. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { loadSql, MAX_TIME, run } from './store.ts'
import type { Version } from './version.ts'

const tombstoneRowsSql = loadSql(import.meta.url, './tombstone_rows.sql')

export type RowsToTombstone = {
  table: 'ticks' | 'pools' | 'liquidity_changes'
  network: NetworkName
  /** As many as one statement takes (see pool-groups.ts). FINAL reads all that the key allows, so name only pools that have such rows. */
  pools: readonly PoolId[]
  /** Blocks, both included; all later ones where `last` is absent. */
  first: number
  last?: number
  /** Seconds, both included. The time is in the key of `ticks`: without it a statement reads all of a pool. */
  since?: UnixSeconds
  until?: UnixSeconds
  /** Rows of lower versions get a tombstone. */
  below: Version
  tombstone: Version
}

const MAX_BLOCK = Number.MAX_SAFE_INTEGER

/** May be repeated. */
export function tombstoneRows(client: ClickHouseClient, rows: RowsToTombstone): Promise<void> {
  const { below, tombstone, last = MAX_BLOCK, since = 0, until = MAX_TIME, ...rest } = rows
  const versions = { below: below.toString(), tombstone: tombstone.toString() }
  return run(client, tombstoneRowsSql, { ...rest, last, since, until, ...versions })
}
