import { readFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../../../../infra/clickhouse/client/client.ts'
import { type Engine, isEngineInstalled, startEngine } from '../../../../infra/clickhouse/engine/engine.ts'
import { makeFolders } from '../../../../infra/clickhouse/engine/engine-access.ts'
import { enginePaths } from '../../../../infra/clickhouse/engine/engine-config.ts'
import { type EngineUser, usersXml } from '../../../../infra/clickhouse/engine/engine-users.ts'
import { migrate } from '../../../../infra/clickhouse/migrate.ts'
import { findStore } from '../../../../infra/clickhouse/store.ts'
import { readConfig } from '../../../../infra/config/config.ts'

let dataDir: string
let engine: Engine
let owner: ClickHouseClient
let api: ClickHouseClient
let accounts: ClickHouseClient

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'candlepool-rights-'))
  engine = await startEngine({ dataDir })
  owner = connect({ ...engine, ...engine.users.owner })
  api = connect({ ...engine, ...engine.users.api })
  accounts = connect({ ...engine, ...engine.users.accounts })
  await migrate(owner, engine)
  await owner.command({ query: 'CREATE DATABASE other' })
  await owner.command({ query: 'CREATE TABLE other.secrets (secret String) ORDER BY secret' })
})

afterAll(async () => {
  await Promise.all([owner, api, accounts].map((client) => client?.close()))
  await engine?.stop()
  await rm(dataDir, { recursive: true, force: true })
})

describe.skipIf(!isEngineInstalled())('the api user', () => {
  it('reads the market, with settings of its own', async () => {
    expect(await outcome(api, 'SELECT count() FROM ticks SETTINGS max_threads = 1')).toBe('ok')
    expect(await outcome(api, 'SELECT count() FROM blocks FINAL')).toBe('ok')
  })

  it.each([
    ['writes', "INSERT INTO api_keys (name) VALUES ('mine')"],
    ['writes to the market', 'INSERT INTO blocks (number) VALUES (1)'],
    ['drops', 'DROP TABLE ticks'],
    ['creates', 'CREATE TABLE mine (a UInt8) ORDER BY a'],
    ['creates for itself', 'CREATE TEMPORARY TABLE mine (a UInt8)'],
    ['reads keys', 'SELECT * FROM api_keys'],
    ['reads usage', 'SELECT * FROM usage'],
    ['reads claims', 'SELECT * FROM credit_claims'],
    ['reads other databases', 'SELECT * FROM other.secrets'],
    ['reads users', 'SELECT * FROM system.users'],
    ['reads what others ask', 'SELECT query FROM system.processes'],
    ['reads server settings', 'SELECT * FROM system.server_settings'],
    ['reads files', "SELECT * FROM file('/etc/hostname', 'LineAsString')"],
    [
      'reads files by a subquery',
      "SELECT (SELECT any(line) FROM file('/etc/hostname', 'LineAsString', 'line String'))",
    ],
    ['describes files', "DESCRIBE file('/etc/hostname')"],
    ['reads addresses', "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')"],
    ['stops others', "KILL QUERY WHERE user = 'owner'"],
    ['closes the port', 'SYSTEM STOP LISTEN HTTP'],
    ['makes users', 'CREATE USER mine'],
  ])('never %s', async (_, query) => {
    expect(await outcome(api, query)).toMatch(/^(ACCESS_DENIED|READONLY)$/)
  })

  it.each([
    ['memory', 'SELECT 1 SETTINGS max_memory_usage = 100000000000', 'SETTING_CONSTRAINT_VIOLATION'],
    ['memory, by none at all', 'SELECT 1 SETTINGS max_memory_usage = 0', 'SETTING_CONSTRAINT_VIOLATION'],
    ['time', 'SELECT 1 SETTINGS max_execution_time = 3600', 'SETTING_CONSTRAINT_VIOLATION'],
    ['its being read-only', 'SELECT 1 SETTINGS readonly = 0', 'READONLY'],
  ])('never lifts its limit of %s', async (_, query, code) => {
    expect(await outcome(api, query)).toBe(code)
  })

  it('is stopped when its client has disconnected', async () => {
    const leaving = new AbortController()
    const query = 'SELECT count() FROM numbers(900000000) WHERE sipHash64(number) = sipHash64(number + 1)'
    const asked = api.query({ query, query_id: 'left', abort_signal: leaving.signal }).catch(() => 'left')
    const isRunning = async () => {
      const answer = await owner.query({ query: "SELECT 1 FROM system.processes WHERE query_id = 'left'" })
      return (await answer.json()).data.length > 0
    }
    await expect.poll(isRunning).toBe(true)
    leaving.abort()
    await asked
    await expect.poll(isRunning).toBe(false)
  })

  it('is stopped where a question grows too large', async () => {
    expect(await outcome(api, 'SELECT number FROM numbers(6000000) FORMAT Null')).toBe('TOO_MANY_ROWS_OR_BYTES')
    expect(await outcome(api, "SELECT groupArray(repeat('x', 1000000)) FROM numbers(5000000)")).toBe(
      'MEMORY_LIMIT_EXCEEDED',
    )
  })
})

describe.skipIf(!isEngineInstalled())('the accounts user', () => {
  it('reads and writes keys and usage, and nothing else', async () => {
    expect(await outcome(accounts, "INSERT INTO api_keys (name) VALUES ('mine')")).toBe('ok')
    expect(await outcome(accounts, 'SELECT * FROM api_keys FINAL')).toBe('ok')
    expect(await outcome(accounts, 'SELECT * FROM usage FINAL')).toBe('ok')
    expect(await outcome(accounts, 'INSERT INTO credit_claims (calls) VALUES (1)')).toBe('ok')
    expect(await outcome(accounts, 'SELECT * FROM credit_claims')).toBe('ok')
    expect(await outcome(accounts, 'SELECT * FROM ticks')).toBe('ACCESS_DENIED')
    expect(await outcome(accounts, 'TRUNCATE TABLE api_keys')).toBe('ACCESS_DENIED')
    expect(await outcome(accounts, "SELECT * FROM file('/etc/hostname', 'LineAsString')")).toBe('ACCESS_DENIED')
  })
})

describe.skipIf(!isEngineInstalled())('a server with these users', () => {
  const whoAsks = async (client: ClickHouseClient) => {
    const answer = await client.query({ query: 'SELECT currentUser() AS name', format: 'JSONEachRow' })
    return (await answer.json<{ name: string }>()).map(({ name }) => name)
  }

  it.each([
    ['all three where their passwords are named', true, ['owner', 'api', 'accounts']],
    ['the owner alone where they are not', false, ['owner', 'owner', 'owner']],
  ])('is asked by %s', async (_, named, expected) => {
    const passwords = {
      CLICKHOUSE_API_PASSWORD: engine.users.api.password,
      CLICKHOUSE_ACCOUNTS_PASSWORD: engine.users.accounts.password,
    }
    const config = readConfig({
      CLICKHOUSE_URL: engine.url,
      CLICKHOUSE_USER: 'owner',
      CLICKHOUSE_PASSWORD: engine.users.owner.password,
      ...(named && passwords),
    })
    const store = await findStore(config, dataDir)
    if (!store) throw new Error('there is no store')
    const asking = await Promise.all([store.owner, store.reader, store.accounts].map(whoAsks))
    expect(asking.flat()).toEqual(expected)
    await store.close()
  })

  it('has them by infra/clickhouse/server/users.xml, with the same limits and rights', () => {
    const server = readFileSync(join(import.meta.dirname, '../../../../infra/clickhouse/server/users.xml'), 'utf8')
    // A server has none of the users behind SQL_PORT: its operator creates users.
    const embedded = usersXml({ owner: '', api: '', accounts: '', analyst: '', parser: '' }, 0).replaceAll(
      /<(analyst|parser|views)>.*?<\/\1>/gs,
      '',
    )
    const grants = (xml: string) =>
      [...xml.matchAll(/<query>((?:GRANT|REVOKE) .* ON candlepool\..*)<\/query>/g)].map(([, it]) => it)
    expect(grants(server)).toEqual(grants(embedded))
    expect(grants(server)).toHaveLength(7)
    const profile = (xml: string, name: string) =>
      new RegExp(`<${name}>\\s*(<readonly>.*?)</${name}>`, 's').exec(xml)?.[1]?.replace(/\s+/g, ' ')
    expect(profile(server, 'candlepool_api')).toBe(profile(embedded, 'api'))
    expect(profile(embedded, 'api')).toMatch(/max_result_rows/)
  })
})

/** All that a passwordless user could try to read a file of this account, or to do without tables. */
const WITHOUT_TABLES = (file: string) => [
  `SELECT file('${file}')`,
  `SELECT (SELECT file('${file}'))`,
  `WITH (SELECT file('${file}')) AS text SELECT text`,
  `SELECT * FROM file('${file}', 'LineAsString')`,
  `SELECT (SELECT any(line) FROM file('${file}', 'LineAsString', 'line String'))`,
  `SELECT 1 FROM system.one WHERE file('${file}') != ''`,
  `DESCRIBE file('${file}')`,
  "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
  'SELECT * FROM candlepool.ticks',
  'SELECT * FROM system.users',
  'SELECT count() FROM numbers(10)',
  'SELECT 1 SETTINGS max_sessions_for_user = 0',
  'SYSTEM STOP LISTEN HTTP',
  'SELECT 1',
]

describe.skipIf(!isEngineInstalled())('the default user, which has no password', () => {
  it('gets nothing over the port', async () => {
    for (const query of WITHOUT_TABLES(enginePaths(dataDir).passwords)) {
      const client = connect({ url: engine.url, username: 'default', password: '', database: 'default' })
      expect(await outcome(client, query), query).toBe('AUTHENTICATION_FAILED')
      await client.close()
      expect(await get({ path: `/?query=${encodeURIComponent(query)}` }), query).toEqual(UNAUTHORIZED)
    }
  })

  it('has no second session, not even for those who know the password of another user', async () => {
    const authorization = authorizationOf('api')
    for (const query of WITHOUT_TABLES(enginePaths(dataDir).passwords))
      for (const settings of ['', '&max_sessions_for_user=0', '&profile=default', '&session_id=mine']) {
        const path = `/?user=default&password=${settings}&query=${encodeURIComponent(query)}`
        const { body } = await get({ path, headers: { authorization } })
        expect(body, path).toMatch(/\((USER_SESSION_LIMIT_EXCEEDED)\)/)
      }
  })
})

describe.skipIf(!isEngineInstalled())('the port', () => {
  const query = '/?query=SELECT%201'

  it.each<[string, Asked]>([
    ['no header', {}],
    ['a wrong password', { headers: { authorization: basic('owner', 'wrong') } }],
    ['no password', { headers: { authorization: basic('owner', '') } }],
    ['another user', { headers: { authorization: basic('default', '') } }],
    ['a pattern', { headers: { authorization: 'Basic .*' } }],
    ['the Host header of another', { headers: { host: 'candlepool.example' } }],
    ['the headers of a proxy', { headers: { 'x-forwarded-for': '127.0.0.1', forwarded: 'for=127.0.0.1' } }],
    ['the headers of ClickHouse', { headers: { 'x-clickhouse-user': 'default', 'x-clickhouse-key': '' } }],
    ['the method POST', { method: 'POST' }],
    ['the method OPTIONS', { method: 'OPTIONS', headers: { origin: 'http://page.example' } }],
    ['the method PUT', { method: 'PUT' }],
  ])('refuses %s', async (_, asked) => {
    expect(await get({ path: query, ...asked })).toEqual(UNAUTHORIZED)
  })

  it('has no page and no handler beside questions', async () => {
    const pages = [
      '/',
      '/ping',
      '/play',
      '/dashboard',
      '/binary',
      '/merges',
      '/jemalloc',
      '/replicas_status',
      '/metrics',
    ]
    for (const path of [...pages, '/js/uplot.js', '/webterminal', '//ping', '/ping?', '/%70ing', '/candlepool'])
      expect(await get({ path }), path).toEqual(UNAUTHORIZED)
    const headers = { authorization: authorizationOf('api') }
    for (const path of pages.filter((page) => page !== '/' && page !== '/ping'))
      expect((await get({ path, headers })).body, path).not.toMatch(/<html|Ok\./i)
    expect(await get({ path: '/ping', headers })).toEqual({ status: 200, body: 'Ok.\n' })
  })

  it('refuses credentials that a header lacks, and a header that is a part of one or more than one', async () => {
    const { username, password } = engine.users.owner
    expect(await get({ path: `${query}&user=${username}&password=${password}` })).toEqual(UNAUTHORIZED)
    const authorization = authorizationOf('owner')
    for (const near of [`${authorization}A`, authorization.slice(0, -1), `x${authorization}`, `${authorization}|.*`])
      expect(await get({ path: query, headers: { authorization: near } }), near).toEqual(UNAUTHORIZED)
    expect(await get({ path: query, headers: { authorization } })).toEqual({ status: 200, body: '1\n' })
  })

  it('is the only one that the engine listens on', async () => {
    expect(await listeningPorts(engine.pid)).toEqual([Number(new URL(engine.url).port)])
  })

  it('opens with passwords of any letters', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'candlepool-rights-'))
    const paths = enginePaths(folder)
    await makeFolders(paths)
    // `>>>` and `???` give `+` and `/` in base64.
    const passwords = { owner: '>>>>>>???ä<&"|)(', api: 'api.*+?^$', accounts: "'\\d" }
    await writeFile(paths.passwords, JSON.stringify(passwords))
    const other = await startEngine({ dataDir: folder })
    const client = connect({ ...other, ...other.users.owner, database: 'default' })
    expect(await outcome(client, 'SELECT 1')).toBe('ok')
    await client.close()
    await other.stop()
    await rm(folder, { recursive: true, force: true })
  })
})

const UNAUTHORIZED = { status: 401, body: expect.stringMatching(/\(AUTHENTICATION_FAILED\)$/) }

type Asked = { path?: string; method?: string; headers?: Record<string, string> }

function get({ path = '/', method = 'GET', headers = {} }: Asked): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(`${engine.url}/`, { path, method, headers, agent: false }, async (answer) => {
      answer.setEncoding('utf8')
      let body = ''
      for await (const chunk of answer) body += chunk
      resolve({ status: answer.statusCode ?? 0, body })
    })
    asked.on('error', reject).end()
  })
}

function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

function authorizationOf(user: EngineUser): string {
  const { username, password } = engine.users[user]
  return basic(username, password)
}

/** From /proc: the sockets of the process that listen, by the kernel's number of each. */
async function listeningPorts(pid: number): Promise<number[]> {
  const descriptors = await readdir(`/proc/${pid}/fd`)
  const targets = await Promise.all(descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')))
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/${pid}/net/${name}`, 'utf8')))
  const sockets = tables.flatMap((table) => table.trim().split('\n').slice(1)).map((line) => line.trim().split(/\s+/))
  const LISTEN = '0A'
  return sockets
    .filter(([, , , state, , , , , , inode]) => state === LISTEN && targets.includes(`socket:[${inode}]`))
    .map(([, local = '']) => Number.parseInt(local.split(':').at(-1) ?? '', 16))
}

/** `ok`, or the name of ClickHouse's error. */
async function outcome(client: ClickHouseClient, query: string): Promise<string> {
  try {
    await client.command({ query })
    return 'ok'
  } catch (error) {
    if (error instanceof ClickHouseError) return error.type ?? error.code
    throw error
  }
}
