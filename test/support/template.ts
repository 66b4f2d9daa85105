/** The tables after all migrations, as statements: a test database made by them takes a sixth of the time that the migrations take. */
import { randomBytes } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import { ask, IN_DEFAULT } from '../../aggregator/store/store.ts'
import { type ClickHouseConnection, connect } from '../../infra/clickhouse/client/client.ts'
import { migrate } from '../../infra/clickhouse/migrate.ts'

/** Sent to the processes of the tests. `DATABASE` stands where the name of the database belongs. */
export type Template = { tables: string[]; views: string[]; migrations: { name: string; checksum: string }[] }

const DATABASE = 'database_of_the_template'

/** Migrates a database, reads its tables, and drops it again. */
export async function readTemplate(connection: Omit<ClickHouseConnection, 'database'>): Promise<Template> {
  const database = `template_${randomBytes(6).toString('hex')}`
  const client = connect({ ...connection, database })
  try {
    await migrate(client, { database })
    const found = await ask<{ statement: string; isView: number }>(
      client,
      `SELECT replaceAll(create_table_query, currentDatabase() || '.', '${DATABASE}.') AS statement, engine IN ('View', 'MaterializedView') AS isView
      FROM system.tables WHERE database = currentDatabase() ORDER BY metadata_modification_time`,
    )
    const statements = (views: boolean) => found.filter(({ isView }) => views === (isView === 1))
    return {
      tables: statements(false).map(({ statement }) => statement),
      views: statements(true).map(({ statement }) => statement),
      migrations: await ask(client, 'SELECT name, checksum FROM migrations FINAL'),
    }
  } finally {
    await client.command({ query: `DROP DATABASE IF EXISTS ${database} SYNC` })
    await client.close()
  }
}

/** The client's own database, which there is none of yet. */
export async function makeFrom(template: Template, client: ClickHouseClient, database: string): Promise<void> {
  const make = (statement: string) => client.command({ query: statement.replaceAll(`${DATABASE}.`, `${database}.`) })
  await client.command({ query: `CREATE DATABASE ${database}`, ...IN_DEFAULT })
  await Promise.all(template.tables.map(make))
  for (const view of template.views) await make(view)
  await client.insert({
    table: 'migrations',
    values: template.migrations,
    columns: ['name', 'checksum'],
    format: 'JSONEachRow',
  })
}
