/** The admin port of an API over the real engine: what it counts of real requests, and what it says when the tables go away. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { watchJobs } from '../../../aggregator/jobs/open-jobs.ts'
import { createKey } from '../../../api/accounts/keys.ts'
import { readConfig } from '../../../infra/config/config.ts'
import { type Admin, startAdmin } from '../../../infra/process/admin.ts'
import { startApi } from '../../../infra/process/api-server.ts'
import { resolveDeployment } from '../../../infra/process/deployment.ts'
import type { Run } from '../../../infra/process/run.ts'
import type { Fact } from '../../../infra/telemetry/fact.ts'
import { openTelemetry } from '../../../infra/telemetry/telemetry.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { POOLS, storeScenario } from '../../api/scenario.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { startProxy, type TcpProxy } from '../../support/proxy.ts'
import { readiness, scrape, sum } from '../../support/scrape.ts'
import { block, openStore } from '../../support/store.ts'
import { until } from '../../support/until.ts'

describe.skipIf(withoutClickHouse)('the admin port', () => {
  let database: TestDatabase
  let proxy: TcpProxy
  let admin: Admin
  let port: number
  let run: Run
  const facts: Fact[] = []
  const stopping = new AbortController()

  beforeAll(async () => {
    database = await freshDatabase()
    proxy = await startProxy(Number(new URL(database.connection.url).port))
    const environment = { NETWORKS: 'ethereum', CLICKHOUSE_URL: database.connection.url, ADMIN_PORT: '0', PORT: '0' }
    const config = readConfig({ ...environment, LOG_LEVEL: 'silent' })
    const telemetry = openTelemetry(config)
    const report = (fact: Fact) => {
      facts.push(fact)
      telemetry.report(fact)
    }
    run = {
      config,
      deployment: resolveDeployment(config),
      report,
      readiness: telemetry.readiness,
      signal: stopping.signal,
      fail: (error: unknown) => Promise.reject(error),
    }
    admin = await startAdmin(run, telemetry)
    port = facts.find((fact) => fact.kind === 'admin-listening')?.port ?? 0
  })
  afterAll(async () => {
    stopping.abort()
    await proxy?.stop()
    await database?.drop()
  })

  test('is open before the tables are, and says that they are not', async () => {
    expect(await (await fetch(`http://127.0.0.1:${port}/health/live`)).json()).toEqual({ status: 'live' })
    expect(await readiness(port)).toEqual({
      status: 503,
      body: {
        status: 'not ready',
        reasons: ['The tables are not open yet: ClickHouse is started or waited for.'],
        standingBy: [],
      },
    })
    const { samples } = await scrape(port)
    expect(sum(samples, 'candlepool_store_up')).toBe(0)
    expect(sum(samples, 'process_resident_memory_bytes')).toBeGreaterThan(0)
  })

  test('counts real requests by route and status, and credits by plan, and names no key', async () => {
    await storeScenario(database.client)
    const client = database.connect({ url: `http://127.0.0.1:${proxy.port}` })
    const close = async () => {}
    const store = {
      owner: client,
      ownerAccess: database.connection,
      reader: client,
      accounts: client,
      analyst: client,
      shards: [client],
      ...watchJobs(client),
      servers: [client],
      failed: new Promise<never>(() => {}),
      close,
    }
    admin.setStore(store)
    const keys = {
      free: await createKey({ client: database.client, plan: 'free', name: 'one' }),
      operator: await createKey({ client: database.client, plan: 'operator', name: 'two' }),
    }
    const api = await startApi([NETWORKS.ethereum], store, run)
    const ask = async (path: string, key: string, method = 'GET') => {
      const answer = await fetch(`http://127.0.0.1:${api.port}${path}`, { method, headers: { 'X-API-KEY': key } })
      const text = await answer.text()
      return { status: answer.status, credits: answer.ok ? Number(JSON.parse(text).credits_used ?? 0) : 0 }
    }
    const candles = `/v0/candles?pool=${POOLS.main.id}&interval=1h&to=2024-01-05T02:00:00Z`
    const free = [
      await ask(candles, keys.free),
      await ask(candles, keys.free),
      await ask('/v0/pools?symbol=WETH-USDC', keys.free),
    ]
    const operator = [await ask('/v0/candles?symbol=WETH-USDC&interval=1h&to=2024-01-05T02:00:00Z', keys.operator)]
    expect([...free, ...operator].map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const others = [
      await ask('/v0/candles?interval=1h', keys.free),
      await ask('/v0/ticks?pool=0x1', keys.free),
      await ask('/v0/usage', 'cp_nobody-has-this-key-0123456789'),
      await ask('/v0/usage', keys.free, 'POST'),
      await ask(`/v0/${keys.free}`, keys.free),
      await ask('/', keys.free, 'DELETE'),
    ]
    await until(
      async () => (facts.filter(({ kind }) => kind === 'request-answered').length >= 10 ? true : undefined),
      'all are told',
    )
    await until(async () => (facts.some(({ kind }) => kind === 'usage-stored') ? true : undefined), 'usage is stored')

    const { samples, text } = await scrape(port)
    const answered = (route: string, status: number) =>
      sum(samples, 'candlepool_http_request_seconds_count', { route, status: String(status) })
    expect(answered('/v0/candles', 200)).toBe(3)
    expect(answered('/v0/candles', 400)).toBe(1)
    expect(answered('/v0/ticks', 400)).toBe(1)
    expect(answered('/v0/pools', 200)).toBe(1)
    expect(answered('/v0/usage', 401)).toBe(1)
    expect(answered('/v0/usage', 405)).toBe(1)
    expect(answered('none', 404)).toBeGreaterThanOrEqual(1)
    expect(sum(samples, 'candlepool_http_request_seconds_count')).toBe(free.length + operator.length + others.length)
    const slowest = sum(samples, 'candlepool_http_request_seconds_bucket', {
      route: '/v0/candles',
      status: '200',
      le: '10',
    })
    expect(slowest).toBe(3)
    const total = (answers: { credits: number }[]) => answers.reduce((all, { credits }) => all + credits, 0)
    expect(sum(samples, 'candlepool_credits_charged_total', { plan: 'free' })).toBe(total(free))
    expect(sum(samples, 'candlepool_credits_charged_total', { plan: 'operator' })).toBe(total(operator))
    expect(total(operator)).toBeGreaterThan(0)
    expect(sum(samples, 'candlepool_usage_unstored_rows')).toBe(0)
    expect(sum(samples, 'candlepool_cache_reads_total', { result: 'miss' })).toBeGreaterThanOrEqual(1)
    expect(sum(samples, 'candlepool_cache_reads_total', { result: 'hit' })).toBeGreaterThanOrEqual(1)
    expect(sum(samples, 'candlepool_cache_bytes')).toBeGreaterThan(0)
    expect(sum(samples, 'candlepool_store_up')).toBe(1)
    expect(sum(samples, 'candlepool_store_disk_free_bytes')).toBeGreaterThan(0)
    expect(sum(samples, 'candlepool_store_disk_bytes')).toBeGreaterThan(
      sum(samples, 'candlepool_store_disk_free_bytes') ?? 0,
    )
    expect(text).not.toMatch(/cp_|api_key/)
  })

  test('says that the newest stored block is old, and is ready once one is new', async () => {
    const old = await readiness(port)
    expect(old.status).toBe(503)
    expect(old.body.reasons).toEqual([
      expect.stringMatching(/^ethereum: its newest stored block, \d+, is \d+ d old\.$/),
    ])
    const now = Math.floor(Date.now() / 1000)
    await openStore(database.client, 'ethereum')([block(1_000_000, now)])
    expect(await readiness(port)).toEqual({ status: 200, body: { status: 'ready', reasons: [], standingBy: [] } })
  })

  test("says that ClickHouse is away, counts what can't be stored meanwhile, and recovers", async () => {
    await proxy.goAway()
    expect(await readiness(port)).toMatchObject({ status: 503, body: { reasons: ['ClickHouse does not answer.'] } })
    expect(sum((await scrape(port)).samples, 'candlepool_store_up')).toBe(0)
    expect(sum((await scrape(port)).samples, 'candlepool_store_disk_bytes')).toBeUndefined()
    expect((await fetch(`http://127.0.0.1:${port}/health/live`)).status).toBe(200)
    await proxy.comeBack()
    await until(async () => ((await readiness(port)).status === 200 ? true : undefined), 'it is ready again')
    expect(sum((await scrape(port)).samples, 'candlepool_store_up')).toBe(1)
    // A new connection would be answered: that one falls silent before the next look.
    const silenced = await until(async () => {
      proxy.fallSilent()
      const { status, body } = await readiness(port)
      return status === 503 ? body.reasons : undefined
    }, 'it meets the silence')
    expect(silenced).toEqual(['ClickHouse does not answer.'])
  })
})
