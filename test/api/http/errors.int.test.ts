import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { HAS_EXTRAS } from '../../support/extras.ts'
import { block, openStore } from '../../support/store.ts'
import { until } from '../../support/until.ts'
import { ProblemBody } from '../body.ts'
import { POOLS, storeScenario, TIP } from '../scenario.ts'
import { type Service, startService } from '../service.ts'

const QUESTION = `/v0/candles?pool=${POOLS.main.id}&interval=1h`

describe.skipIf(withoutClickHouse)('errors and what all answers share', () => {
  let database: TestDatabase
  let service: Service
  let now = TIP + 10
  const clock = () => new Date(now * 1000)
  const networks = [NETWORKS.ethereum, { ...NETWORKS.arbitrum, devnet: true }]

  beforeAll(async () => {
    database = await freshDatabase()
    await storeScenario(database.client)
    service = await startService({ client: database.client, networks, clock })
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  async function problem(path: string, headers?: Record<string, string>, method?: string) {
    const reply = await service.get(path, headers, method)
    expect(reply.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
    expect(reply.headers.get('cache-control')).toContain('no-store')
    const body = ProblemBody.parse(reply.body)
    expect([body.status, body.request_id, body.detail]).toEqual([
      reply.status,
      reply.headers.get('x-request-id'),
      body.message,
    ])
    if (HAS_EXTRAS) expect((await fetch(service.url + body.type)).status).toBe(200)
    return { ...body, headers: reply.headers }
  }
  const code = async (...ask: Parameters<typeof problem>) => (await problem(...ask)).code

  test('the route is looked at before the key', async () => {
    expect(await code('/v0/nothing', {})).toBe('not_found')
    expect(await code('/page/none.js', {})).toBe('not_found')
    expect(await code('/candles', {})).toBe('not_found')
    const refused = await problem(QUESTION, {}, 'POST')
    expect([refused.code, refused.headers.get('allow')]).toEqual(['method_not_allowed', 'GET, HEAD, OPTIONS'])
  })

  test('the key is looked at before the parameters', async () => {
    for (const headers of [{}, { 'X-API-KEY': 'wrong' }, { 'X-API-KEY': '' }]) {
      const refused = await problem('/v0/candles?limit=0', headers)
      expect(refused.code).toBe('unauthorized')
      expect(refused.headers.get('www-authenticate')).toContain('X-API-KEY')
    }
  })

  test('a key that is sent twice is refused', async () => {
    const answer = await raw(
      `GET /v0/usage HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${service.key}\r\nX-API-KEY: ${service.key}\r\nConnection: close\r\n\r\n`,
    )
    expect(answer).toContain('HTTP/1.1 401')
  })

  test('the parameters are looked at before the credits, and the credits before the market', async () => {
    const poor = await startService({ client: database.client, networks, clock, plan: 'free' })
    const headers = { 'X-API-KEY': poor.key }
    for (let question = 0; question < 60; question++) await poor.get(QUESTION)
    const codes = []
    for (const path of ['/v0/candles', '/v0/ticks?symbol=NOPE-WETH', QUESTION]) {
      codes.push(ProblemBody.parse((await poor.get(path, headers)).body).code)
    }
    await poor.stop()
    expect(codes).toEqual(['invalid_parameters', 'minute_credits_exceeded', 'minute_credits_exceeded'])
  })

  test('bad parameters are told all at once', async () => {
    const { errors } = await problem('/v0/ticks?limit=1001&from=x&networks=bsc')
    expect(errors?.map(({ field }) => field).sort()).toEqual(['from', 'limit', 'networks', 'symbol'])
  })

  test('an address that guesses too often waits, a right key from it is let in', async () => {
    now += 3_600
    const codes = []
    for (let guess = 0; guess < 22; guess++) codes.push(await code('/v0/usage', { 'X-API-KEY': `guess ${guess}` }))
    expect(new Set(codes.slice(0, 20))).toEqual(new Set(['unauthorized']))
    expect(codes.slice(20)).toEqual(['too_many_failures', 'too_many_failures'])
    expect((await service.get('/v0/usage')).status).toBe(200)
    now -= 3_600
  })

  test('long addresses and large headers are refused', async () => {
    expect(await code(`${QUESTION}&x=${'x'.repeat(9_000)}`)).toBe('uri_too_long')
    const answer = await raw(`GET /v0/usage HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`)
    expect(answer).toContain('HTTP/1.1 431')
    expect(answer).toContain('headers_too_large')
    expect(await raw('NOT HTTP\r\n\r\n')).toContain('bad_request')
  })

  test('an answer to a request that the parser refuses has the security headers of all answers', async () => {
    const usual = await raw(`GET /v0/nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    const ownHeaders =
      /^(content-length|content-type|connection|date|etag|x-request-id|access-control-.*|vary|cache-control|keep-alive|transfer-encoding)$/
    const safe = headerLines(usual).filter((line) => !ownHeaders.test(line.split(':')[0] ?? ''))
    expect(safe).toContain('x-content-type-options: nosniff')
    for (const refused of [`GET / HTTP/1.1\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`, 'NOT HTTP\r\n\r\n'])
      expect(headerLines(await raw(refused))).toEqual(expect.arrayContaining(safe))
  })

  test('HEAD and preflight are understood, and browsers may read our headers', async () => {
    const head = await service.get(QUESTION, undefined, 'HEAD')
    expect([head.status, head.body]).toEqual([200, ''])
    const preflight = await service.get(
      QUESTION,
      { 'Access-Control-Request-Method': 'GET', Origin: 'https://a.example' },
      'OPTIONS',
    )
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
      204,
      expect.stringContaining('X-API-KEY'),
    ])
    const { headers } = await service.get(QUESTION)
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('access-control-expose-headers')).toContain('X-Market-Pool')
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(headers.get('x-powered-by')).toBeNull()
  })

  test('health needs no key and tells tips, lag and stand-in chains', async () => {
    const { status, body, headers } = await service.get('/v0/health', {})
    expect([status, headers.get('x-candlepool-devnet')]).toEqual([200, 'true'])
    expect(body).toEqual({
      status: 'ok',
      networks: [
        expect.objectContaining({
          network: 'ethereum',
          devnet: false,
          lag_seconds: 10,
          reason: null,
          tip: expect.objectContaining({ number: 120, time: '2024-01-05T02:00:30Z' }),
        }),
        expect.objectContaining({ network: 'arbitrum', devnet: true }),
      ],
    })
  })

  test('answers from a stand-in chain say so', async () => {
    const from = (query: string) => service.get(`/v0/candles?interval=1h&symbol=WETH-DAI&networks=${query}`)
    expect((await from('arbitrum')).headers.get('x-candlepool-devnet')).toBe('true')
    expect((await service.get(QUESTION)).headers.get('x-candlepool-devnet')).toBeNull()
  })

  test('a tip that is rolled back is not the tip', async () => {
    await openStore(database.client, 'arbitrum')([block(6_000, TIP + 5)])
    await database.client.command({
      query: `INSERT INTO blocks SELECT * REPLACE (version + 1 AS version, 1 AS is_deleted) FROM blocks FINAL WHERE number = 6000`,
    })
    // What is known of the tip may have been read between the two.
    const isTip = async () => {
      const { body } = await service.get('/v0/health', {})
      expect(body).toMatchObject({ networks: [{}, { tip: { number: 5_009 } }] })
      return true as const
    }
    await until(isTip, 'the tip is the block below')
  })

  test('a store that is down is 503, and says nothing of itself', async () => {
    const dead = database.connect({ url: 'http://127.0.0.1:1' })
    const half = await startService({ client: dead, accounts: database.client, networks, clock })
    const { status, headers, body } = await half.get(QUESTION)
    await half.stop()
    expect([status, headers.get('retry-after')]).toEqual([503, '5'])
    expect(ProblemBody.parse(body).code).toBe('store_unavailable')
    expect(JSON.stringify(body)).not.toMatch(/127\.0\.0\.1|ECONN|clickhouse/i)
    expect(half.facts).toContainEqual(expect.objectContaining({ kind: 'request-failed' }))
  })

  test('connections that wait to be accepted when the service stops are answered', async () => {
    const stopping = await startService({ client: database.client, networks, clock, key: service.key })
    const { hostname, port } = new URL(stopping.url)
    const request = `GET ${QUESTION} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${service.key}\r\n\r\n`
    const answers = Array.from({ length: 100 }, () => {
      const socket = connect(Number(port), hostname)
      socket.write(request)
      return new Promise<string>((resolve) => {
        let answer = ''
        socket.on('data', (data) => {
          answer += data
        })
        socket.on('error', (error) => resolve(String(error)))
        socket.on('close', () => resolve(answer))
      })
    })
    // The kernel has all of them by then, and the service none.
    await new Promise<void>((resolve) => process.nextTick(resolve))
    await stopping.stop()
    const told = (await Promise.all(answers)).map((answer) => answer.split('\r\n')[0])
    expect(told).toEqual(Array(100).fill('HTTP/1.1 200 OK'))
  })

  test('questions under way are answered when the service stops', async () => {
    const stopping = await startService({ client: database.client, networks, clock, key: service.key })
    const asked = Array.from({ length: 10 }, () => stopping.get(QUESTION))
    // All ten were sent together, so the others are under way when the first is answered.
    await Promise.race(asked)
    await stopping.stop()
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array(10).fill(200))
    await expect(stopping.get(QUESTION)).rejects.toThrow()
  })

  function raw(request: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = new URL(service.url)
      let answer = ''
      const socket = connect(Number(port), hostname, () => socket.write(request))
      socket.on('data', (data) => {
        answer += data
      })
      socket.on('close', () => resolve(answer))
      socket.on('error', (error) => (answer === '' ? reject(error) : resolve(answer)))
    })
  }
})

function headerLines(answer: string): string[] {
  const [head = ''] = answer.split('\r\n\r\n')
  const [, ...lines] = head.split('\r\n')
  return lines.map((line) => line.replace(/^[^:]+/, (name) => name.toLowerCase()))
}
