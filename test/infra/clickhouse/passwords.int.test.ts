/** A server that refuses a password: the error names the variable that it is from, and not the password. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { run } from '../../support/candlepool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'

const WRONG = 'not-the-passw0rd'

describe.skipIf(withoutClickHouse)('a ClickHouse server that refuses a password', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  const environment = () => {
    const { url, username, password, database: name } = database.connection
    return {
      CLICKHOUSE_URL: url,
      CLICKHOUSE_USER: username,
      CLICKHOUSE_PASSWORD: password,
      CLICKHOUSE_DATABASE: name,
      ETHEREUM_RPC_URL: 'http://127.0.0.1:9',
    }
  }

  test.each([
    ['CLICKHOUSE_PASSWORD', 'status', []],
    ['CLICKHOUSE_PASSWORD', 'keys', ['list']],
    ['CLICKHOUSE_API_PASSWORD', 'sql', ['SELECT 1']],
  ] as const)('is told of with %s by npm run %s', async (variable, script, args) => {
    const command = run(script, { ...environment(), [variable]: WRONG }, args)
    expect(await command.exited).toBe(1)
    expect(command.output()).toContain(variable)
    expect(command.output()).not.toContain(WRONG)
  })

  test('is no news where the password is right', async () => {
    const command = run('sql', environment(), ['SELECT 41 + 1', '--format', 'TSV'])
    expect([await command.exited, command.output()]).toEqual([0, '42\n'])
  })
})
