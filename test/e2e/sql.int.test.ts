/** Access for analysts, on a devnet: the command, and the port for tools, by raw HTTP and by the official JDBC driver. Attacks: sql-port.int.test.ts. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readRunning } from '../../infra/clickhouse/engine/engine-access.ts'
import { enginePaths } from '../../infra/clickhouse/engine/engine-config.ts'
import { readConfig } from '../../infra/config/config.ts'
import { currentStoreFolder } from '../../infra/config/folders.ts'
import { asker, type Running, run, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { withoutClickHouse } from '../support/clickhouse.ts'
import { freePorts } from '../support/free-ports.ts'
import { fetchedJars, javaAtLeast } from '../support/maven.ts'
import { until } from '../support/until.ts'

const ROOT = join(import.meta.dirname, '../..')
const JDBC = join(ROOT, 'test/support/jdbc')
const PRINTED = [...readFileSync(join(ROOT, 'infra/docs/sql.md'), 'utf8').matchAll(/```sql\n(.*?)```/gs)].map(
  ([, sql = '']) => sql,
)

describe.skipIf(withoutClickHouse || process.env['CLICKHOUSE_URL'] !== undefined)('analysts', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let main: Running
  let environment: Record<string, string>
  let password: string
  let url: string

  beforeAll(async () => {
    folder = await temporaryFolder()
    const [port] = await freePorts(1)
    environment = { DATA_DIR: folder.path, SQL_PORT: String(port) }
    main = run('start', { ...environment, PORT: '0' })
    const ready = await untilReady(main)
    // An hour's candles of a pair are stored once the traders have traded.
    const ask = asker(ready.url, ready.key)
    await until(async () => {
      const { data } = await ask<{ data: unknown[] }>('/v0/ticks?symbol=WETH-USDC&limit=20')
      return data.length >= 20 ? true : undefined
    }, 'the traders have traded')
    url = `http://127.0.0.1:${port}/`
    password = /Password {2}(\S+)/.exec(await sql(['--connection']))?.[1] ?? ''
    expect(password).not.toBe('')
  })

  afterAll(async () => {
    await main?.stop()
    await folder?.remove()
  })

  async function sql(args: readonly string[]): Promise<string> {
    const command = run('sql', environment, args)
    expect([await command.exited, command.output()]).toEqual([0, expect.any(String)])
    return command.output()
  }

  async function post(body: string, headers: Record<string, string> = {}, path = ''): Promise<string> {
    const authorization = `Basic ${Buffer.from(`analyst:${password}`).toString('base64')}`
    const answer = await fetch(`${url}${path}`, { method: 'POST', body, headers: { authorization, ...headers } })
    return `${answer.status} ${(await answer.text()).trim()}`
  }

  test('the command runs one statement, as a table or in a format', async () => {
    expect(await sql(['SELECT 1 AS one, 2 AS two;'])).toMatch(/one.*two/)
    expect(await sql(['SELECT 1 AS one, 2 AS two', '--format', 'CSVWithNames'])).toBe('"one","two"\n1,2\n')
    expect(Number(await sql(['SELECT count() FROM market_ticks', '--format', 'TSV']))).toBeGreaterThanOrEqual(20)
  })

  test('the command runs a script, whatever its strings and comments hold', async () => {
    const script =
      "SELECT ';' AS one; -- a comment; it's one\nSELECT 2;\n/* ; */ SELECT $$three;$$ # and a last one;\n;"
    expect(await sql([script, '--format', 'TSV'])).toBe(';\n2\nthree;\n')
  })

  test('the command says what is wrong, and how it is used', async () => {
    expect(await sql(['--help'])).toMatch(/^Usage: npm run/)
    for (const [args, text] of [
      [['SELECT nothing'], /UNKNOWN_IDENTIFIER|Unknown expression identifier/],
      [['DROP TABLE ticks'], /readonly mode|Not enough privileges/],
      [['SELECT 1', 'SELECT 2'], /More than one argument/],
      [['SELECT 1; SELECT nothing; SELECT 3'], /^(?![\s\S]*3\n)[\s\S]*Statement 2 of 3: [\s\S]*nothing/],
      [['/* a comment; */'], /^Usage: npm run/],
      [['--frmat', 'CSV'], /--frmat/],
    ] as const) {
      const command = run('sql', environment, args)
      expect(await command.exited, args.join()).toBe(1)
      expect(command.output()).toMatch(text)
    }
  })

  test('the queries that the documents print answer with rows', async () => {
    expect(PRINTED.length).toBeGreaterThanOrEqual(3)
    for (const query of PRINTED) {
      const rows = await sql([query, '--format', 'JSONEachRow'])
      expect(rows.trim().split('\n')[0], query).toMatch(/^\{.*\}$/)
    }
  })

  test('the port answers one user, however a tool names it', async () => {
    const count = 'SELECT count() > 0 FROM market_pools'
    expect(await post(count)).toBe('200 1')
    const none = { authorization: '' }
    expect(await post(count, { ...none, 'x-clickhouse-user': 'analyst', 'x-clickhouse-key': password })).toBe('200 1')
    expect(await post(count, none, `?user=analyst&password=${password}`)).toBe('200 1')
    expect(await post('', {}, `?query=${encodeURIComponent(count)}`)).toBe('200 1')
    expect(await post(count, { 'x-clickhouse-format': 'JSONEachRow' })).toMatch(/^200 \{"greater/)
    for (const wrong of [none, { ...none, 'x-clickhouse-user': 'owner', 'x-clickhouse-key': password }])
      expect(await post(count, wrong)).toMatch(/^401 Code: 516\./)
    expect(await post(count, none, '?user=default')).toMatch(/^401 /)
    expect(await (await fetch(`${url}ping`)).text()).toBe('Ok.\n')
  })

  test('the password of the port opens no other one', async () => {
    const store = (await currentStoreFolder(readConfig({ DATA_DIR: folder.path }))) ?? ''
    const engine = await readRunning(enginePaths(store))
    const authorization = `Basic ${Buffer.from(`analyst:${password}`).toString('base64')}`
    const answer = await fetch(engine?.url ?? '', { method: 'POST', body: 'SELECT 1', headers: { authorization } })
    expect(answer.status).toBe(401)
  })

  test('the official JDBC driver connects, lists the views and runs what is printed', async ({ skip }) => {
    const jars = await javaAtLeast(17)
      .then(() => fetchedJars('clickhouse-jdbc-0.9.8', join(JDBC, 'pom.xml')))
      .catch((error: Error) => error)
    if (jars instanceof Error) return skip(jars.message)
    const connection = [`${url.replace('http:', 'jdbc:clickhouse:http:')}candlepool`, 'analyst', password]
    const { stdout } = await promisify(execFile)('java', [
      ...['-cp', join(jars, '*'), join(JDBC, 'Ask.java'), ...connection],
      ...PRINTED,
      "SELECT file('/etc/hostname')",
    ])
    const lines = stdout.trim().split('\n')
    expect(lines.filter((line) => line.startsWith('table ')).sort()).toEqual([
      'table market_candles',
      'table market_pools',
      'table market_ticks',
    ])
    const rows = lines.filter((line) => line.startsWith('rows ')).map((line) => Number(line.slice(5)))
    expect(rows).toHaveLength(PRINTED.length)
    for (const count of rows) expect(count).toBeGreaterThan(0)
    expect(lines.at(-1)).toMatch(/^refused .*SQL_PORT, rule functions: file /)
  })
})
