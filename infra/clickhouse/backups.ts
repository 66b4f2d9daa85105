/** Backups of all tables in a folder of ClickHouse's own, made while everything runs; a restore happens beside the tables, and is swapped in when it is whole. */
import type { ClickHouseClient } from '@clickhouse/client'
import { ask, IN_DEFAULT } from '../../aggregator/store/store.ts'
import type { Config } from '../config/config.ts'
import { UsageError } from '../lib/usage-error.ts'
import { followBackup, type OnProgress } from './follow-backup.ts'
import { knownTables, knownViews, migrate, refuseLater } from './migrate.ts'
import type { Store } from './store.ts'
import { setDefiner } from './views.ts'

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
/** The name of the database in a backup: on the server it may have another one. */
const SAVED_AS = 'candlepool'
/** Tables that record complete rows. They are written after the rows, so they are saved before them: a backup never records rows that it lacks. */
const LEDGER_TABLES = ['blocks', 'coverage', 'audits', 'jobs']
/** Tables that every complete backup has. */
const EXPECTED = [...LEDGER_TABLES, 'ticks', 'candles', 'pools', 'liquidity_changes', 'api_keys', 'usage', 'migrations']
/** Processes write these on their own, so rows in them do not make a store non-empty. */
const INTERNAL_TABLES = [
  'migrations',
  'retention',
  'owners',
  'settled',
  'halts',
  'credit_claims',
  'presences',
  'request_counts',
  'verifications',
]

export function checkName(name: string | undefined, usage: string): string {
  if (name !== undefined && NAME.test(name)) return name
  throw new UsageError(
    `NAME is letters, digits, dots, hyphens and underscores, and begins with a letter or a digit.\n${usage}`,
  )
}

export async function backUp({ shards }: Pick<Store, 'shards'>, name: string, onProgress: OnProgress): Promise<void> {
  const parts = await Promise.all(shards.map(databaseOf))
  for (const { server, database } of parts) {
    const tables = `BACKUP ${ledgerTables(database, SAVED_AS)} TO ${folder(name, 'ledger')}`
    await followBackup(server, tables, (progress) => onProgress(`Saving the ledger: ${progress}`))
  }
  for (const { server, database } of parts) {
    // Views are made again by `migrate`: where a database gets another name, ClickHouse spells their queries out, and leaves out aliases.
    const others = [...LEDGER_TABLES, ...(await knownViews())].map((table) => `${database}.${table}`)
    const tables = `BACKUP DATABASE ${database} AS ${SAVED_AS} EXCEPT TABLES ${others} TO ${folder(name, 'rows')}`
    await followBackup(server, tables, (progress) => onProgress(`Saving the rows: ${progress}`))
  }
}

/**
 * Restores into empty tables. The backup is restored into a second database, read once to check it, and then swapped in; an interrupted
 * restore is repeated. A backup of an earlier version is migrated.
 */
export async function restore(
  { shards, servers, engine }: Pick<Store, 'shards' | 'servers' | 'engine'>,
  name: string,
  onProgress: OnProgress,
  chain?: Config['chain']['kind'],
): Promise<void> {
  if (servers.length > shards.length)
    throw new UsageError('With replicas a backup is restored by hand, on one server of each shard.')
  const parts = await Promise.all(shards.map(databaseOf))
  for (const part of parts) await requireEmpty(part)
  for (const part of parts) await restoreAside(part, name, onProgress, chain)
  // Checked again: a process that was started meanwhile may have stored rows.
  for (const part of parts) await requireEmpty(part)
  for (const part of parts) {
    await swap(part)
    if (engine) await setDefiner(part.server)
  }
}

/** Each statement is atomic: between two of them the name refers to the empty tables, to none, or to the restored ones. */
async function swap({ server, database }: ShardDatabase): Promise<void> {
  const empty = `${database}_replaced`
  await command(server, `DROP DATABASE IF EXISTS ${empty} SYNC`)
  await command(server, `RENAME DATABASE ${database} TO ${empty}`)
  await command(server, `RENAME DATABASE ${restoreNameOf(database)} TO ${database}`)
  // Also done by the next start.
  await migrate(server, { database })
  await command(server, `DROP DATABASE ${empty} SYNC`)
}

async function restoreAside(
  { server, database }: ShardDatabase,
  name: string,
  onProgress: OnProgress,
  chain: Config['chain']['kind'] | undefined,
): Promise<void> {
  const beside = restoreNameOf(database)
  const drop = `DROP DATABASE IF EXISTS ${beside} SYNC`
  await command(server, drop)
  try {
    await restoreTables(server, beside, name, onProgress)
    const tables = (await tablesOf(server, beside)).map((table) => table.name)
    const missing = EXPECTED.filter((table) => !tables.includes(table))
    if (missing.length > 0) throw new UsageError(`The backup is incomplete: it lacks ${missing.join(', ')}.`)
    await refuseLater(server, beside)
    if (chain) await refuseOtherKind(server, beside, chain)
    for (const table of tables) {
      onProgress(`Checking ${table}`)
      // ClickHouse compares the checksum of every block that it reads.
      await command(server, `SELECT * FROM ${beside}.${table} FORMAT Null`)
    }
  } catch (error) {
    await command(server, drop).catch(() => undefined)
    if (error instanceof Error && /BACKUP_NOT_FOUND|Backup .* not found/.test(error.message))
      throw new UsageError(`There is no backup ${name}: copy it into the folder of backups.allowed_path first.`)
    throw error
  }
}

/** A backup from elsewhere may bring views and tables that read or send on their own as soon as they are made: only known tables are. */
async function restoreTables(
  server: ClickHouseClient,
  beside: string,
  name: string,
  onProgress: OnProgress,
): Promise<void> {
  await command(server, `CREATE DATABASE ${beside}`)
  for (const table of await knownTables()) {
    if (LEDGER_TABLES.includes(table)) continue
    const statement = `RESTORE TABLE ${SAVED_AS}.${table} AS ${beside}.${table} FROM ${folder(name, 'rows')}`
    await followBackup(server, statement, (progress) => onProgress(`Restoring ${table}: ${progress}`)).catch(
      (error) => {
        // An earlier version had fewer tables.
        if (!/BACKUP_ENTRY_NOT_FOUND/.test(String(error))) throw error
      },
    )
  }
  const ledger = `RESTORE ${ledgerTables(SAVED_AS, beside)} FROM ${folder(name, 'ledger')}`
  await followBackup(server, ledger, (progress) => onProgress(`Restoring the ledger: ${progress}`))
  const query = `SELECT name, engine FROM system.tables
    WHERE database = {database:String} AND engine NOT LIKE '%MergeTree' LIMIT 1`
  const [other] = await ask<{ name: string; engine: string }>(server, query, { database: beside }, IN_DEFAULT)
  if (other)
    throw new UsageError(
      `${other.name} is no table of rows in the backup, but ${other.engine}: it was altered, and nothing of it was taken.`,
    )
}

/** Ethereum was at this block in June 2017; a devnet that stands in for it begins at 0, and years later. */
const FIRST_REAL = { number: 4_000_000, second: 1_500_000_000 }

/** A devnet's rows carry the name `ethereum`: mixed with rows of the real chain, they could not be separated again. */
async function refuseOtherKind(
  server: ClickHouseClient,
  database: string,
  chain: Config['chain']['kind'],
): Promise<void> {
  const query = `SELECT number < {number:UInt64} AND toUnixTimestamp(time) > {second:UInt32} AS is_devnet
    FROM ${database}.blocks FINAL WHERE network = 'ethereum' ORDER BY number LIMIT 1`
  const [oldest] = await ask<{ is_devnet: number }>(server, query, FIRST_REAL, IN_DEFAULT)
  if (oldest?.is_devnet === 1 && chain === 'networks')
    throw new UsageError(
      'The backup is of a devnet, whose trades are made up, and networks are configured here: unset NETWORKS and each _RPC_URL. Nothing was changed.',
    )
  if (oldest?.is_devnet === 0 && chain === 'devnet')
    throw new UsageError(
      'The backup is of a real network, and none is configured here: set NETWORKS or its _RPC_URL as when it was saved. Nothing was changed.',
    )
}

function restoreNameOf(database: string): string {
  return `${database}_restored`
}

/** Throws where any table of data has rows, be it from backfills alone. */
async function requireEmpty({ server, database }: ShardDatabase): Promise<void> {
  const tables = await tablesOf(server, database)
  if (tables.some(({ name, rows }) => rows > 0 && !INTERNAL_TABLES.includes(name)))
    throw new UsageError('The tables hold something already: restore into an empty DATA_DIR or database.')
}

function tablesOf(server: ClickHouseClient, database: string): Promise<{ name: string; rows: number }[]> {
  const query = `SELECT name, toFloat64(ifNull(total_rows, 0)) AS rows FROM system.tables
    WHERE database = {database:String} AND engine LIKE '%MergeTree%' ORDER BY name`
  return ask(server, query, { database }, IN_DEFAULT)
}

type ShardDatabase = { server: ClickHouseClient; database: string }

/** As statements spell it: names take no parameters here, and config.ts lets none through that would have to be quoted. */
async function databaseOf(server: ClickHouseClient): Promise<ShardDatabase> {
  const query = 'SELECT currentDatabase() AS database'
  const [{ database } = { database: '' }] = await ask<{ database: string }>(server, query)
  return { server, database }
}

/** The ledger tables, from one database into another. */
function ledgerTables(from: string, to: string): string {
  return LEDGER_TABLES.map((table) => `TABLE ${from}.${table} AS ${to}.${table}`).join(', ')
}

function folder(name: string, part: string): string {
  return `File('${name}/${part}/')`
}

async function command(client: ClickHouseClient, query: string): Promise<void> {
  await client.command({ query, ...IN_DEFAULT })
}
