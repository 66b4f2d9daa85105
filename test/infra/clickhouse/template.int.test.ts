/** Test databases are made from a template, so their tables have to be those that the migrations make. */
import { expect, onTestFinished, test } from 'vitest'
import { ask } from '../../../aggregator/store/store.ts'
import { migrate } from '../../../infra/clickhouse/migrate.ts'
import { freshDatabase, withoutClickHouse } from '../../support/clickhouse.ts'

test.skipIf(withoutClickHouse)(
  'a test database has the tables, the rows and the migrations of a migrated one',
  async () => {
    const { client, database, connect, drop } = await freshDatabase()
    const other = `${database}_migrated`
    const migrated = connect({ database: other })
    onTestFinished(async () => {
      await client.command({ query: `DROP DATABASE IF EXISTS ${other} SYNC` })
      await drop()
    })
    await migrate(migrated, { database: other })
    const query = `SELECT name, replaceAll(create_table_query, currentDatabase() || '.', '') AS made, toString(total_rows) AS rows
    FROM system.tables WHERE database = currentDatabase() ORDER BY name`
    const tables = await ask(client, query)
    expect(tables.length).toBeGreaterThan(20)
    expect(tables).toEqual(await ask(migrated, query))
    expect(await migrate(client, { database })).toEqual([])
  },
)
