/** A database of its own for each test file, on the ClickHouse of the run. */
import { randomBytes } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import { inject } from 'vitest'
import { type ClickHouseConnection, connect } from '../../infra/clickhouse/client/client.ts'
import type { ProvidedClickHouse } from './clickhouse-server.ts'
import { makeFrom } from './template.ts'

export type TestDatabase = {
  database: string
  /** The rights of an owner on this database. */
  connection: ClickHouseConnection
  client: ClickHouseClient
  /** Another client, closed by `drop` as the first one is. */
  connect(overrides?: Partial<ClickHouseConnection>): ClickHouseClient
  drop(): Promise<void>
}

/** For `describe.skipIf`: true where no ClickHouse could be started, which the run has said by then. */
export const withoutClickHouse: boolean = 'unavailable' in provided()

/** A migrated database with a name of its own; `drop` it after the tests. */
export async function freshDatabase(): Promise<TestDatabase> {
  const server = provided()
  if ('unavailable' in server)
    throw new Error(`no ClickHouse: ${server.unavailable}; use describe.skipIf(withoutClickHouse)`)
  const { url, username, password } = server
  const connection = { url, username, password, database: `test_${randomBytes(6).toString('hex')}` }
  const clients: ClickHouseClient[] = []
  const client = another()
  await makeFrom(server.template, client, connection.database)
  return { database: connection.database, connection, client, connect: another, drop }

  function another(overrides: Partial<ClickHouseConnection> = {}) {
    const made = connect({ ...connection, ...overrides })
    clients.push(made)
    return made
  }
  async function drop() {
    await client.command({ query: `DROP DATABASE IF EXISTS ${connection.database} SYNC` })
    await Promise.all(clients.map((made) => made.close()))
  }
}

function provided(): ProvidedClickHouse {
  return inject('clickhouse') ?? { unavailable: 'only the int project starts one' }
}
