/** The service and its OpenAPI document say the same: every operation, every status. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKey, hashKey } from '../../../api/accounts/keys.ts'
import { HEADERS } from '../../../api/schema/headers.ts'
import { openApi } from '../../../api/schema/openapi.ts'
import { createClient } from '../../client/client.ts'
import { conformityTo } from '../../client/conformity.ts'
import { sendRaw } from '../../client/raw.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { ADDED_APIS, ofExtras, withExtras } from '../../support/extras.ts'
import { ARBITRUM_POOLS, NETWORKS_SERVED, POOLS, storeScenario, TIP } from '../scenario.ts'
import { type Service, startService } from '../service.ts'

const SECRET = 'the clock stopped: SELECT key FROM api_keys'
const GOOD: Readonly<Record<string, string>> = {
  '/v0/candles': '?symbol=WETH-USDC&interval=1h',
  '/v0/pools': '?symbol=ETH-USDC',
  '/v0/ticks': `?pool=${POOLS.v4.id}&from=2024-01-05`,
  '/v0/depth': `?pool=${POOLS.v4.id}`,
  '/v0/pools/top': '?per=pair',
  '/v0/pools/new': '?maxAge=12h',
  '/v0/usage': '',
  '/v0/health': '',
}
const UNKNOWN = [`pool=${ARBITRUM_POOLS.dai.id}&networks=ethereum`, 'symbol=NOPE-WETH', 'symbol=WBTC-USDC']

const document = openApi(...ADDED_APIS)
const conformity = conformityTo(document)
const paths = Object.keys(document.paths)
const keyed = paths.filter((path) => document.paths[path]?.get.security === undefined)
const paid = keyed.filter((path) => path !== '/v0/usage')

describe.skipIf(withoutClickHouse)('the service keeps its contract', () => {
  let database: TestDatabase
  let service: Service
  let broken: Service
  const clock = () => new Date((TIP + 10) * 1000)
  const seen = new Set<string>()

  beforeAll(async () => {
    database = await freshDatabase()
    const { client } = database
    await storeScenario(client)
    const networks = NETWORKS_SERVED
    service = await startService({ client, networks, clock })
    let fails = false
    const failing = () => {
      if (fails) throw new Error(SECRET)
      return clock()
    }
    broken = await startService({ client, networks, clock: failing, key: service.key })
    fails = true
  })
  afterAll(async () => {
    await Promise.all([service, broken].map((one) => one?.stop()))
    await database?.drop()
  })

  /** Asks, and holds the answer against the document. */
  async function ask(path: string, headers: Record<string, string>, from: Service = service, method = 'GET') {
    return check(method, path, await fetch(from.url + path, { headers, method }))
  }
  async function check(method: string, path: string, response: Response) {
    const text = await response.text()
    const [route = ''] = path.split('?')
    expect(
      conformity(method, route, { ...response, status: response.status, headers: response.headers, text }),
      `${path} ${text}`,
    ).toEqual([])
    if (method === 'GET') seen.add(`${route} ${response.status}`)
    return { status: response.status, text, headers: response.headers }
  }
  const key = () => ({ 'X-API-KEY': service.key })
  const statusOf = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).status

  test('typed questions have typed answers', async () => {
    const client = createClient({ url: service.url, key: service.key })
    const candles = await client.GET('/v0/candles', {
      params: { query: { pool: POOLS.main.id, interval: '1h', limit: 3, fill: 'none', price: 'spot' } },
    })
    const closes: readonly number[] | undefined = candles.data?.data.map(({ close }) => close)
    expect(closes).toEqual([0.0005, 0.0005])
    const pools = await client.GET('/v0/pools', { params: { query: { symbol: 'PEPE-WETH' } } })
    expect(pools.data?.data[0]?.token0.symbol).toBe('PEPE')
    const ticks = await client.GET('/v0/ticks', { params: { query: { pool: POOLS.v4.id, from: '2024-01-05' } } })
    expect(ticks.data?.data[0]?.side).toBe('buy')
    const usage = await client.GET('/v0/usage')
    expect(usage.data?.credits.month.billing_period_start).toBeNull()
    const health = await createClient({ url: service.url }).GET('/v0/health')
    expect(health.data?.networks.map(({ tip }) => tip?.number)).toEqual([120, 5_009, undefined])
    const { error, response } = await client.GET('/v0/ticks', { params: { query: { symbol: 'NOPE-WETH' } } })
    expect([response.status, error?.code]).toEqual([404, 'unknown_symbol'])
  })

  test.each(paths)('%s: 200, and 304 to who has it already', async (path) => {
    expect(await statusOf(path + GOOD[path], key())).toBe(200)
    // Without its own Cache-Control, fetch would ask for a fresh copy.
    expect(await statusOf(path + GOOD[path], { ...key(), 'If-None-Match': '*', 'Cache-Control': 'max-age=0' })).toBe(
      304,
    )
    expect(await statusOf(path + GOOD[path], key(), service, 'HEAD')).toBe(200)
  })

  test('empty, optional and null fields are as documented', async () => {
    for (const path of [
      `/v0/candles?pool=${POOLS.silent.id}&interval=1h`,
      `/v0/candles?pool=${POOLS.main.id}&interval=1h&from=2024-01-05&to=2024-01-06&price=spot&fill=none`,
      `/v0/candles?pool=${POOLS.dust.id}&interval=1d`,
      `/v0/ticks?symbol=DAI-WETH`,
      '/v0/pools?symbol=NOPE-NADA',
      '/v0/pools?symbol=ETH-DAI',
    ])
      expect(await statusOf(path, key()), path).toBe(200)
  })

  test.each(paths)('%s: 400 to what is not well formed, 414 and 431 to what is too long', async (path) => {
    const malformed = await sendRaw(service.url, `GET ${path} HTTP/1.1\r\nHost x\r\n\r\n`)
    expect((await check('GET', path, malformed)).status).toBe(400)
    expect(await statusOf(`${path}?x=${'x'.repeat(9_000)}`, key())).toBe(414)
    expect(await statusOf(path, { ...key(), 'X-Large': 'x'.repeat(20_000) })).toBe(431)
  })

  test.each(paid)('%s: 400 to bad parameters', async (path) => {
    expect(await statusOf(`${path}?symbol=&limit[]=1&interval=1w`, key())).toBe(400)
  })

  test('/v0/pools: 404 to a pool that is not known', async () => {
    expect(await statusOf(`/v0/pools?pool=0x${'12'.repeat(20)}`, key())).toBe(404)
  })

  test.each(['/v0/candles', '/v0/ticks', ...ofExtras('/v0/depth')])('%s: 404 to what is not known', async (path) => {
    for (const unknown of UNKNOWN) expect(await statusOf(`${path}?interval=1h&${unknown}`, key())).toBe(404)
  })

  test.each([
    ['minute', TIP, 60],
    ['month', TIP - 86_400, 10_000],
  ])('429 to who has used up the credits of a %s', async (window, minute, credits) => {
    const headers = { 'X-API-KEY': await keyThatUsed(minute, credits) }
    for (const path of paid) {
      const { text, headers: answered } = await ask(path + GOOD[path], headers)
      expect(text).toContain(`${window}_credits_exceeded`)
      expect(answered.get('ratelimit')).toContain(`"${window}";r=0;`)
    }
    expect(await statusOf('/v0/usage', headers)).toBe(200)
  })

  async function keyThatUsed(minute: number, credits: number): Promise<string> {
    const key = await createKey({ client: database.client, plan: 'free', name: 'spent', billingStart: undefined })
    await database.client.command({
      query: `INSERT INTO usage VALUES (unhex({hash:String}), toStartOfMinute(toDateTime({minute:UInt32}, 'UTC')), generateUUIDv4(), {credits:UInt64}, 5, 1)`,
      query_params: { hash: hashKey(key), minute, credits },
    })
    return key
  }

  test.each(paths)('%s: 500 says nothing of what went wrong', async (path) => {
    const { status, text, headers } = await ask(path + GOOD[path], key(), broken)
    expect(status).toBe(500)
    expect(text + JSON.stringify([...headers])).not.toContain('SELECT')
    expect(broken.facts).toContainEqual(expect.objectContaining({ error: new Error(SECRET) }))
  })

  test('503 where the store is away', async () => {
    const away = database.connect({ url: 'http://127.0.0.1:1' })
    const dead = await startService({ client: away, networks: NETWORKS_SERVED, clock, key: service.key })
    for (const path of paths) expect(await statusOf(path + GOOD[path], key(), dead), path).toBe(503)
    await dead.stop()
  })

  test('401 to who has no good key, 429 to who guesses', async () => {
    for (const path of keyed) {
      expect(await statusOf(path, {})).toBe(401)
      expect(await statusOf(path, { 'X-API-KEY': 'wrong' })).toBe(401)
    }
    for (let guess = 0; guess < 20; guess++) await statusOf('/v0/usage', { 'X-API-KEY': `guess ${guess}` })
    for (const path of keyed) expect(await statusOf(path, {})).toBe(429)
  })

  test('405 to any other method, 404 to any other path', async () => {
    for (const path of paths) {
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'PROPFIND'])
        expect(await statusOf(path, key(), service, method)).toBe(405)
    }
    for (const path of ['/page', '/page/none.js', '/v0', '/v1/candles', '/v0/candles/x', '/favicon.ico'])
      expect(await statusOf(path, key()), path).toBe(404)
  })

  test('every status of every operation was seen', () => {
    const documented = Object.entries(document.paths).flatMap(([path, { get }]) =>
      Object.keys(get.responses).map((status) => `${path} ${status}`),
    )
    expect([...seen].sort()).toEqual(expect.arrayContaining(documented))
  })

  test('browsers may read every documented header', async () => {
    const { headers } = await ask('/v0/health', {})
    const exposed = headers.get('access-control-expose-headers')?.split(', ') ?? []
    // Those that browsers let through without leave, and one that is for other methods.
    const free = ['Cache-Control', 'Allow']
    expect([...exposed, ...free].sort()).toEqual(Object.keys(HEADERS).sort())
  })

  test('document and page need no key', withExtras, async () => {
    const served = await fetch(`${service.url}/v0/openapi.json`)
    expect([served.status, await served.json()]).toEqual([200, JSON.parse(JSON.stringify(document))])
    const page = await fetch(`${service.url}/v0/docs`)
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/)
  })
})
