/** Brings the tables up to date: numbered SQL files, each applied once and never changed afterwards. */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { ask, IN_DEFAULT } from '../../aggregator/store/store.ts'
import { withMigrationLock } from './migration-lock.ts'
import { statementsOf } from './statements.ts'

const DIRECTORY = join(import.meta.dirname, 'migrations')

export type Migration = {
  /** `0001_blocks`, the file name without its ending. */
  name: string
  checksum: string
  sql: string
}

export type MigrateOptions = {
  /** The client's own database, which is made if it is missing. */
  database: string
  directory?: string
  /** Rewrites a statement for this server, as replicated engines need. */
  adapt?: (statement: string) => string
}

/**
 * Applies the missing migrations in order, and returns their names. Several processes may call it at once: one does the work.
 * Statements are repeatable, because ClickHouse can't undo the first statements of a file if a later one fails.
 */
export async function migrate(client: ClickHouseClient, options: MigrateOptions): Promise<string[]> {
  const migrations = await readMigrations(options.directory ?? DIRECTORY)
  await client.command({
    query: 'CREATE DATABASE IF NOT EXISTS {database: Identifier}',
    query_params: { database: options.database },
    // The client's database may not exist yet, and no query runs inside a database that does not.
    ...IN_DEFAULT,
  })
  await client.command({ query: MIGRATIONS_TABLE })
  // Most starts find nothing to do, and need no lock to see it.
  if (missing(migrations, await readApplied(client)).length === 0 && (await hasViews(client, migrations))) return []
  return withMigrationLock(client, async () => {
    const todo = missing(migrations, await readApplied(client))
    const ofViews = new Set(todo.filter(({ sql }) => statementsOf(sql).some(isPlainView)))
    for (const migration of todo) {
      await apply(client, migration, options.adapt)
      if (!ofViews.has(migration)) await recordApplied(client, [migration])
    }
    if (ofViews.size > 0 || !(await hasViews(client, migrations))) await makeViews(client, migrations, options.adapt)
    await recordApplied(client, [...ofViews])
    return todo.map((migration) => migration.name)
  })
}

export async function readMigrations(directory: string): Promise<Migration[]> {
  const files = (await readdir(directory)).filter((file) => file.endsWith('.sql')).sort()
  const numbers = new Set<string>()
  const migrations: Migration[] = []
  for (const file of files) {
    const number = /^(\d{4})_[a-z0-9_]+\.sql$/.exec(file)?.[1]
    if (number === undefined) throw new MigrationError(`${file} is not named like 0001_name.sql`)
    if (numbers.has(number))
      throw new MigrationError(`two migrations have the number ${number}: give ${file} the next free one`)
    numbers.add(number)
    const sql = (await readFile(join(directory, file), 'utf8')).replaceAll('\r\n', '\n')
    migrations.push({
      name: file.slice(0, -'.sql'.length),
      checksum: createHash('sha256').update(sql).digest('hex'),
      sql,
    })
  }
  return migrations
}

const MIGRATIONS_TABLE = `
CREATE TABLE IF NOT EXISTS migrations
(
    name     String,
    checksum String,
    applied  DateTime('UTC') DEFAULT now()
)
ENGINE = ReplacingMergeTree
ORDER BY name`

type Applied = Pick<Migration, 'name' | 'checksum'>

function readApplied(client: ClickHouseClient): Promise<Applied[]> {
  return ask(client, 'SELECT name, checksum FROM migrations FINAL')
}

function missing(migrations: readonly Migration[], applied: readonly Applied[]): Migration[] {
  const known = new Map(migrations.map((migration) => [migration.name, migration]))
  for (const { name, checksum } of applied) {
    const migration = known.get(name)
    if (!migration) {
      throw new MigrationError(
        `the database has the migration ${name}, which this version does not know: run the version that made it, or a later one`,
      )
    }
    if (migration.checksum !== checksum && FORMER_CHECKSUMS[name] !== checksum) {
      throw new MigrationError(
        `${name}.sql was changed after it had been applied: restore it, and put the change into a new file`,
      )
    }
  }
  const done = new Set(applied.map(({ name }) => name))
  return migrations.filter(({ name }) => !done.has(name))
}

/** By name, where a file was changed after it had been applied: `0030_flow_and_hooks` brings tables of the former one up to date. */
const FORMER_CHECKSUMS: Readonly<Record<string, string>> = {
  '0002_ticks': 'b052d3e1a2d888ee73af6e845a2f91ddebe963e2d04d4ac68ee12f60041e82f0',
  '0003_candles': 'd0e781b8eb6892408b9df38c4f303c44524404eda6bf444c760a226865f9c0a3',
  '0004_pools': '0f488f1921ac373f88b782bd25e4ca7d3630cbf72093fb5ad155523a8ba76661',
  '0028_views': '62d3ea5d5d73db4c15de41f4522fadded6c265dcc23fbabf30f4db3c0de18b84',
}

/** All but views: a restored database lacks those that a later file's view reads, so they are made once all tables are up to date. */
async function apply(
  client: ClickHouseClient,
  migration: Migration,
  adapt = (statement: string) => statement,
): Promise<void> {
  for (const [index, statement] of statementsOf(migration.sql).entries()) {
    if (isPlainView(statement)) continue
    try {
      await client.command({ query: adapt(statement) })
      await untilMutationsDone(client)
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new MigrationError(`${migration.name}.sql, statement ${index + 1}: ${reason}`, { cause })
    }
  }
}

async function recordApplied(client: ClickHouseClient, migrations: readonly Applied[]): Promise<void> {
  if (migrations.length === 0) return
  await client.insert({
    table: 'migrations',
    values: migrations.map(({ name, checksum }) => ({ name, checksum })),
    columns: ['name', 'checksum'],
    format: 'JSONEachRow',
  })
}

/** Refuses a database that a later version has made; it may be another one than the client's own. */
export async function refuseLater(client: ClickHouseClient, database: string): Promise<void> {
  const query = 'SELECT name, checksum FROM {database:Identifier}.migrations FINAL'
  missing(await readMigrations(DIRECTORY), await ask<Applied>(client, query, { database }, IN_DEFAULT))
}

/** The tables that migrations have ever made. */
export async function knownTables(): Promise<ReadonlySet<string>> {
  const migrations = await readMigrations(DIRECTORY)
  const made = migrations.flatMap(({ sql }) => [...sql.matchAll(/^CREATE TABLE IF NOT EXISTS (\w+)/gm)])
  return new Set(['migrations', ...made.flatMap(([, name]) => name ?? [])])
}

/** The views that migrations make, by name. */
export async function knownViews(): Promise<readonly string[]> {
  return viewsIn(await readMigrations(DIRECTORY)).map(({ name }) => name)
}

/** A restored database has none. */
async function hasViews(client: ClickHouseClient, migrations: readonly Migration[]): Promise<boolean> {
  const query = `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine IN ('View', 'MaterializedView')`
  const views = new Set((await ask<{ name: string }>(client, query)).map(({ name }) => name))
  return viewsIn(migrations).every(({ name }) => views.has(name))
}

/** As they are defined by now. */
async function makeViews(
  client: ClickHouseClient,
  migrations: readonly Migration[],
  adapt = (statement: string) => statement,
): Promise<void> {
  for (const { statement } of viewsIn(migrations)) await client.command({ query: adapt(statement) })
}

function viewsIn(migrations: readonly Migration[]): { name: string; statement: string }[] {
  return migrations
    .flatMap(({ sql }) => statementsOf(sql))
    .map((statement) => ({ statement, name: VIEW.exec(statement)?.[1] ?? '' }))
    .filter(({ name }) => name !== '')
}

const isPlainView = (statement: string) => /^CREATE OR REPLACE VIEW /m.test(statement)
const VIEW = /^CREATE (?:OR REPLACE VIEW|MATERIALIZED VIEW IF NOT EXISTS) (\w+)/m

const POLL_MS = 200

/**
 * Waits for mutations. ClickHouse rewrites rows in the background, part by part, and resumes after a crash. On a large store that takes
 * longer than any request, so `system.mutations` is polled. A failing mutation is retried for ever: its error is thrown.
 */
async function untilMutationsDone(client: ClickHouseClient): Promise<void> {
  for (;;) {
    const query = `SELECT command, latest_fail_reason AS failure FROM system.mutations
      WHERE database = currentDatabase() AND NOT is_done ORDER BY failure DESC LIMIT 1`
    const [mutation] = await ask<{ command: string; failure: string }>(client, query)
    if (!mutation) return
    if (mutation.failure !== '') throw new MigrationError(`${mutation.command} fails: ${mutation.failure}`)
    await sleep(POLL_MS)
  }
}

export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}
