/** Backups of all tables in a folder of ClickHouse's own, made while everything runs. */
import type { ClickHouseClient } from '@clickhouse/client'
import { migrate } from './clickhouse/migrate.ts'
import { UsageError } from './command.ts'

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
/** What vouches for rows in other tables is grown after them: it is saved before them, so that a backup never promises what it has not. */
const VOUCHING = ['blocks', 'coverage', 'audits', 'jobs']

export function checkName(name: string | undefined, usage: string): string {
  if (name !== undefined && NAME.test(name)) return name
  throw new UsageError(
    `NAME is letters, digits, dots, hyphens and underscores, and begins with a letter or a digit.\n${usage}`,
  )
}

export async function backUp(client: ClickHouseClient, database: string, name: string): Promise<void> {
  const tables = VOUCHING.map((table) => `TABLE ${quoted(database)}.${table}`)
  const others = VOUCHING.map((table) => `${quoted(database)}.${table}`)
  await command(client, `BACKUP ${tables} TO ${folder(name, 'ledger')}`)
  await command(client, `BACKUP DATABASE ${quoted(database)} EXCEPT TABLES ${others} TO ${folder(name, 'rows')}`)
}

/** Into tables that hold nothing yet. A backup of an earlier version is brought up to date. */
export async function restore(client: ClickHouseClient, database: string, name: string): Promise<void> {
  const result = await client.query({
    query: 'SELECT 1 FROM blocks LIMIT 1 UNION ALL SELECT 1 FROM api_keys LIMIT 1',
    format: 'JSONEachRow',
  })
  const rows = await result.json()
  if (rows.length > 0)
    throw new UsageError('The tables hold something already: restore into an empty DATA_DIR or database.')
  await command(client, `DROP DATABASE ${quoted(database)} SYNC`)
  await command(client, `RESTORE DATABASE ${quoted(database)} FROM ${folder(name, 'rows')}`)
  const tables = VOUCHING.map((table) => `TABLE ${quoted(database)}.${table}`)
  await command(client, `RESTORE ${tables} FROM ${folder(name, 'ledger')}`)
  await migrate(client, { database })
}

/** Names of databases and files take no parameters here. */
function folder(name: string, part: string): string {
  return `File('${name}/${part}/')`
}

function quoted(database: string): string {
  return `\`${database.replaceAll('`', '\\`')}\``
}

async function command(client: ClickHouseClient, query: string): Promise<void> {
  // The database that the client names may be the one that is not there.
  await client.command({ query, http_headers: { 'X-ClickHouse-Database': 'default' } })
}
