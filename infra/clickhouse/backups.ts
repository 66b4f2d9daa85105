/** Backups of all tables in a folder of ClickHouse's own, made while everything runs; a restore happens beside the tables, and is swapped in when it is whole. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Config } from '../config/config.ts'
import { UsageError } from '../lib/usage-error.ts'
import { followBackup, type OnProgress } from './follow-backup.ts'
import { migrate, refuseLater } from './migrate.ts'
import type { Store } from './store.ts'

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
/** What the database is called in a backup, whatever it is called on a server. */
const SAVED_AS = 'candlepool'
/** What vouches for rows in other tables is grown after them: it is saved before them, so that a backup never promises what it has not. */
const LEDGER_TABLES = ['blocks', 'coverage', 'audits', 'jobs']
/** Not saved, and made again by `migrate`: where a database gets another name, ClickHouse spells their queries out, and leaves out aliases. */
const VIEWS = ['market_pools', 'market_ticks', 'market_candles']
/** Without any of these a database is not one of ours, or not whole. */
const EXPECTED = [...LEDGER_TABLES, 'ticks', 'candles', 'pools', 'liquidity_changes', 'api_keys', 'usage', 'migrations']
/** Processes leave rows in these by themselves: what they claim of a minute, and that one has halted. */
const INTERNAL_TABLES = ['migrations', 'retention', 'owners', 'settled', 'halts', 'credit_claims', 'presences']

export function checkName(name: string | undefined, usage: string): string {
  if (name !== undefined && NAME.test(name)) return name
  throw new UsageError(
    `NAME is letters, digits, dots, hyphens and underscores, and begins with a letter or a digit.\n${usage}`,
  )
}

export async function backUp({ shards }: Pick<Store, 'shards'>, name: string, tell: OnProgress): Promise<void> {
  const parts = await Promise.all(shards.map(databaseOf))
  for (const { server, database } of parts) {
    const tables = `BACKUP ${ledgerTables(database, SAVED_AS)} TO ${folder(name, 'ledger')}`
    await followBackup(server, tables, (progress) => tell(`Saving the ledger: ${progress}`))
  }
  for (const { server, database } of parts) {
    const others = [...LEDGER_TABLES, ...VIEWS].map((table) => `${database}.${table}`)
    const tables = `BACKUP DATABASE ${database} AS ${SAVED_AS} EXCEPT TABLES ${others} TO ${folder(name, 'rows')}`
    await followBackup(server, tables, (progress) => tell(`Saving the rows: ${progress}`))
  }
}

/**
 * Into tables that hold nothing yet. Until everything is restored beside them and was read once, they stay as they are; a restore that was
 * cut off is begun again. A backup of an earlier version is brought up to date.
 */
export async function restore(
  { shards, servers }: Pick<Store, 'shards' | 'servers'>,
  name: string,
  tell: OnProgress,
  chain?: Config['chain']['kind'],
): Promise<void> {
  if (servers.length > shards.length)
    throw new UsageError('With replicas a backup is restored by hand, on one server of each shard.')
  const parts = await Promise.all(shards.map(databaseOf))
  for (const part of parts) await requireEmpty(part)
  for (const part of parts) await restoreAside(part, name, tell, chain)
  // Processes that were started meanwhile have stored something.
  for (const part of parts) await requireEmpty(part)
  for (const part of parts) await swap(part)
}

/** No statement leaves half a database where it is cut off: between two of them, the name has the empty tables, none, or those restored. */
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
  tell: OnProgress,
  chain: Config['chain']['kind'] | undefined,
): Promise<void> {
  const beside = restoreNameOf(database)
  const drop = `DROP DATABASE IF EXISTS ${beside} SYNC`
  await command(server, drop)
  try {
    const rows = `RESTORE DATABASE ${SAVED_AS} AS ${beside} FROM ${folder(name, 'rows')}`
    await followBackup(server, rows, (progress) => tell(`Restoring the rows: ${progress}`))
    const ledger = `RESTORE ${ledgerTables(SAVED_AS, beside)} FROM ${folder(name, 'ledger')}`
    await followBackup(server, ledger, (progress) => tell(`Restoring the ledger: ${progress}`))
    const tables = (await tablesOf(server, beside)).map((table) => table.name)
    const missing = EXPECTED.filter((table) => !tables.includes(table))
    if (missing.length > 0) throw new UsageError(`The backup is not whole: it lacks ${missing.join(', ')}.`)
    await refuseLater(server, beside)
    if (chain) await refuseOtherKind(server, beside, chain)
    for (const table of tables) {
      tell(`Checking ${table}`)
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

/** Ethereum was at this block in June 2017; a devnet that stands in for it begins at 0, and years later. */
const FIRST_REAL = { number: 4_000_000, second: 1_500_000_000 }

/** A devnet's rows bear the name of the network that it stands in for: nothing would tell its trades from real ones. */
async function refuseOtherKind(
  server: ClickHouseClient,
  database: string,
  chain: Config['chain']['kind'],
): Promise<void> {
  const answer = await server.query({
    query: `SELECT number < {number:UInt64} AND toUnixTimestamp(time) > {second:UInt32} AS is_devnet
            FROM ${database}.blocks FINAL WHERE network = 'ethereum' ORDER BY number LIMIT 1`,
    query_params: FIRST_REAL,
    format: 'JSONEachRow',
    http_headers: ANYWHERE,
  })
  const [oldest] = await answer.json<{ is_devnet: number }>()
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

/** Whatever a user or a job has stored, a store of backfills alone too. */
async function requireEmpty({ server, database }: ShardDatabase): Promise<void> {
  const tables = await tablesOf(server, database)
  if (tables.some(({ name, rows }) => rows > 0 && !INTERNAL_TABLES.includes(name)))
    throw new UsageError('The tables hold something already: restore into an empty DATA_DIR or database.')
}

async function tablesOf(server: ClickHouseClient, database: string): Promise<{ name: string; rows: number }[]> {
  const answer = await server.query({
    query: `SELECT name, toFloat64(ifNull(total_rows, 0)) AS rows FROM system.tables
            WHERE database = {database:String} AND engine LIKE '%MergeTree%' ORDER BY name`,
    query_params: { database },
    format: 'JSONEachRow',
    http_headers: ANYWHERE,
  })
  return answer.json<{ name: string; rows: number }>()
}

type ShardDatabase = { server: ClickHouseClient; database: string }

/** As statements spell it: names take no parameters here, and config.ts lets none through that would have to be quoted. */
async function databaseOf(server: ClickHouseClient): Promise<ShardDatabase> {
  const result = await server.query({ query: 'SELECT currentDatabase() AS database', format: 'JSONEachRow' })
  const [{ database } = { database: '' }] = await result.json<{ database: string }>()
  return { server, database }
}

/** The tables that vouch, from one database into another. */
function ledgerTables(from: string, to: string): string {
  return LEDGER_TABLES.map((table) => `TABLE ${from}.${table} AS ${to}.${table}`).join(', ')
}

function folder(name: string, part: string): string {
  return `File('${name}/${part}/')`
}

/** The database that the client names may be the one that is not there. */
const ANYWHERE = { 'X-ClickHouse-Database': 'default' }

async function command(client: ClickHouseClient, query: string): Promise<void> {
  await client.command({ query, http_headers: ANYWHERE })
}
