import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../../../infra/clickhouse/client.ts'
import { type Engine, isEngineInstalled, startEngine } from '../../../infra/clickhouse/engine.ts'
import { usersXml } from '../../../infra/clickhouse/engine-config.ts'
import { migrate } from '../../../infra/clickhouse/migrate.ts'
import { readConfig } from '../../../infra/config.ts'
import { findStore } from '../../../infra/store.ts'

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
    ['reads other databases', 'SELECT * FROM other.secrets'],
    ['reads users', 'SELECT * FROM system.users'],
    ['reads what others ask', 'SELECT query FROM system.processes'],
    ['reads server settings', 'SELECT * FROM system.server_settings'],
    ['reads files', "SELECT * FROM file('/etc/hostname', 'LineAsString')"],
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

  it('is stopped when nobody waits for the answer any more', async () => {
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
    await expect.poll(isRunning, { timeout: 3_000 }).toBe(false)
  })

  it('is stopped where a question grows too large', async () => {
    expect(await outcome(api, 'SELECT number FROM numbers(6000000) FORMAT Null')).toBe('TOO_MANY_ROWS_OR_BYTES')
    expect(await outcome(api, 'SELECT groupArray(number) FROM numbers(900000000)')).toBe('MEMORY_LIMIT_EXCEEDED')
  })
})

describe.skipIf(!isEngineInstalled())('the accounts user', () => {
  it('reads and writes keys and usage, and nothing else', async () => {
    expect(await outcome(accounts, "INSERT INTO api_keys (name) VALUES ('mine')")).toBe('ok')
    expect(await outcome(accounts, 'SELECT * FROM api_keys FINAL')).toBe('ok')
    expect(await outcome(accounts, 'SELECT * FROM usage FINAL')).toBe('ok')
    expect(await outcome(accounts, 'SELECT * FROM ticks')).toBe('ACCESS_DENIED')
    expect(await outcome(accounts, 'TRUNCATE TABLE api_keys')).toBe('ACCESS_DENIED')
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
    const server = readFileSync(join(import.meta.dirname, '../../../infra/clickhouse/server/users.xml'), 'utf8')
    const embedded = usersXml({ owner: '', api: '', accounts: '' })
    const grants = (xml: string) =>
      [...xml.matchAll(/<query>((?:GRANT|REVOKE) .* ON candlepool\..*)<\/query>/g)].map(([, it]) => it)
    expect(grants(server)).toEqual(grants(embedded))
    expect(grants(server)).toHaveLength(5)
    const profile = (xml: string, name: string) =>
      new RegExp(`<${name}>\\s*(<readonly>.*?)</${name}>`, 's').exec(xml)?.[1]?.replace(/\s+/g, ' ')
    expect(profile(server, 'candlepool_api')).toBe(profile(embedded, 'api'))
    expect(profile(embedded, 'api')).toMatch(/max_result_rows/)
  })
})

describe.skipIf(!isEngineInstalled())('the default user, which has no password', () => {
  it.each([
    'SELECT * FROM candlepool.ticks',
    "SELECT * FROM file('/etc/hostname', 'LineAsString')",
    'SYSTEM STOP LISTEN HTTP',
    'SELECT * FROM system.users',
    'SELECT count() FROM numbers(10)',
  ])('is refused: %s', async (query) => {
    const client = connect({ url: engine.url, username: 'default', password: '', database: 'default' })
    expect(await outcome(client, query)).toMatch(/^(ACCESS_DENIED|QUOTA_EXCEEDED)$/)
    await client.close()
  })
})

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
