/** `npm run keys`: what it refuses, and in which words. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listKeys } from '../../../api/accounts/keys.ts'
import { run } from '../../support/candlepool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'

describe.skipIf(withoutClickHouse)('npm run keys', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  async function keys(...args: string[]): Promise<{ code: number | null; output: string }> {
    const { url, username, password } = database.connection
    const environment = {
      CLICKHOUSE_URL: url,
      CLICKHOUSE_USER: username,
      CLICKHOUSE_PASSWORD: password,
      CLICKHOUSE_DATABASE: database.database,
    }
    const command = run('keys', environment, args)
    const code = await command.exited
    return { code, output: command.output() }
  }

  test.each(['9999-12-31', '1960-01-01', '2106-02-08', '0001-01-01'])(
    '--billing-start %s is refused, with the years that are taken',
    async (date) => {
      const { code, output } = await keys('create', '--plan', 'free', '--billing-start', date)
      expect(output).toBe(`--billing-start ${date} is not between 1970-01-01 and 2099-12-31.\n`)
      expect(code).toBe(1)
    },
  )

  test('--billing-start takes the first and the last of its days', async () => {
    for (const date of ['1970-01-01', '2099-12-31'])
      expect((await keys('create', '--plan', 'free', '--name', date, '--billing-start', date)).code).toBe(0)
    const { output } = await keys('list')
    for (const date of ['1970-01-01', '2099-12-31'])
      expect(output).toMatch(new RegExp(`free +${date} +\\d{4}-\\d\\d-\\d\\d +${date}`))
  })

  test('create shows the ID by which the key is revoked, beside the key', async () => {
    const { code, output } = await keys('create', '--plan', 'free', '--name', 'shown')
    expect(code).toBe(0)
    const [, id = '', key = ''] =
      /^A key on the plan free, (key_[0-9a-f]{12})\. It is shown only now:\n\n(cp_\S+)\n$/.exec(output) ?? []
    expect(key).not.toBe('')
    expect((await keys('revoke', id)).code).toBe(0)
    expect((await listKeys(database.client)).find((it) => it.id === id)?.revoked).toBeDefined()
  })

  test('--name is one line of at most 100 characters', async () => {
    for (const name of ['a\nkey_000000000000  operator', 'a'.repeat(101), 'tab\there', '\u001b[2J']) {
      const { code, output } = await keys('create', '--plan', 'free', '--name', name)
      expect(output).toBe('--name is not one line of at most 100 characters.\n')
      expect(code).toBe(1)
    }
    expect((await keys('create', '--plan', 'free', '--name', 'Ännchen & Söhne')).code).toBe(0)
    expect((await listKeys(database.client)).map(({ name }) => name)).toContain('Ännchen & Söhne')
  })
})
