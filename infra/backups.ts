/** Backups of all tables in a folder of ClickHouse's own, made while everything runs. */
import type { ClickHouseClient } from '@clickhouse/client'
import { makeViews, migrate } from './clickhouse/migrate.ts'
import { UsageError } from './command.ts'
import type { Store } from './store.ts'

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
/** What the database is called in a backup, whatever it is called on a server. */
const SAVED_AS = 'candlepool'
/** What vouches for rows in other tables is grown after them: it is saved before them, so that a backup never promises what it has not. */
const VOUCHING = ['blocks', 'coverage', 'audits', 'jobs']
/** Made anew: where a database gets another name, ClickHouse spells their queries anew, and leaves out aliases. */
const VIEWS = ['market_pools', 'market_ticks', 'market_candles']

export function checkName(name: string | undefined, usage: string): string {
  if (name !== undefined && NAME.test(name)) return name
  throw new UsageError(
    `NAME is letters, digits, dots, hyphens and underscores, and begins with a letter or a digit.\n${usage}`,
  )
}

export async function backUp({ shards }: Store, name: string): Promise<void> {
  const parts = await Promise.all(shards.map(partOf))
  for (const { server, database } of parts)
    await command(server, `BACKUP ${vouching(database, SAVED_AS)} TO ${folder(name, 'ledger')}`)
  for (const { server, database } of parts) {
    const others = [...VOUCHING, ...VIEWS].map((table) => `${database}.${table}`)
    await command(
      server,
      `BACKUP DATABASE ${database} AS ${SAVED_AS} EXCEPT TABLES ${others} TO ${folder(name, 'rows')}`,
    )
  }
}

/** Into tables that hold nothing yet. A backup of an earlier version is brought up to date. */
export async function restore({ owner, shards, servers }: Store, name: string): Promise<void> {
  if (servers.length > shards.length)
    throw new UsageError('With replicas a backup is restored by hand, on one server of each shard.')
  const result = await owner.query({
    query: 'SELECT 1 FROM blocks LIMIT 1 UNION ALL SELECT 1 FROM api_keys LIMIT 1',
    format: 'JSONEachRow',
  })
  const rows = await result.json()
  if (rows.length > 0)
    throw new UsageError('The tables hold something already: restore into an empty DATA_DIR or database.')
  for (const { server, database } of await Promise.all(shards.map(partOf))) {
    await command(server, `DROP DATABASE ${database} SYNC`)
    await command(server, `RESTORE DATABASE ${SAVED_AS} AS ${database} FROM ${folder(name, 'rows')}`)
    await command(server, `RESTORE ${vouching(SAVED_AS, database)} FROM ${folder(name, 'ledger')}`)
    await migrate(server, { database })
    await makeViews(server)
  }
}

type Part = { server: ClickHouseClient; database: string }

/** As statements spell it: names take no parameters here, and config.ts lets none through that would have to be quoted. */
async function partOf(server: ClickHouseClient): Promise<Part> {
  const result = await server.query({ query: 'SELECT currentDatabase() AS database', format: 'JSONEachRow' })
  const [{ database } = { database: '' }] = await result.json<{ database: string }>()
  return { server, database }
}

/** The tables that vouch, from one database into another. */
function vouching(from: string, to: string): string {
  return VOUCHING.map((table) => `TABLE ${from}.${table} AS ${to}.${table}`).join(', ')
}

function folder(name: string, part: string): string {
  return `File('${name}/${part}/')`
}

async function command(client: ClickHouseClient, query: string): Promise<void> {
  // The database that the client names may be the one that is not there.
  await client.command({ query, http_headers: { 'X-ClickHouse-Database': 'default' } })
}
