/** `symbol` beside `pool` chooses the direction, so that what the warning advises gives the same prices; and what is left of the credits is on each answer. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { ARBITRUM_POOLS, NETWORKS_SERVED, POOLS, storeScenario, TIP } from '../scenario.ts'
import { type Service, startService } from '../service.ts'

const RANGE = 'from=2024-01-05&to=2024-01-05T02:00:00Z'
type Row = Record<string, unknown>
type Body = {
  data: Row[]
  credits_used: number
  warning?: { tip: string; message: string }
  code?: string
  errors?: Row[]
}

describe.skipIf(withoutClickHouse)('symbol and pool together', () => {
  let database: TestDatabase
  let service: Service

  beforeAll(async () => {
    database = await freshDatabase()
    await storeScenario(database.client)
    const clock = () => new Date((TIP + 10) * 1_000)
    service = await startService({ client: database.client, networks: NETWORKS_SERVED, clock })
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  async function ask(path: string) {
    const { status, headers, body } = await service.get(`/v0/${path}`)
    return { status, headers, body: body as Body }
  }

  test.each(['candles?interval=1h&limit=100', 'ticks?limit=100'])(
    '%s: symbol gives the direction, at the price of the pool',
    async (path) => {
      const of = (query: string) => ask(`${path}&${RANGE}&${query}`)
      const forward = await of(`pool=${POOLS.main.id}`)
      const inverse = await of(`pool=${POOLS.main.id}&symbol=WETH-USDC`)
      expect(inverse.status).toBe(200)
      expect(inverse.headers.get('X-Market-Pair')).toBe('WETH-USDC')
      expect(inverse.body.data).toEqual((await of('symbol=WETH-USDC')).body.data)
      expect(inverse.body.data).not.toEqual(forward.body.data)
      expect((await of(`pool=${POOLS.main.id}&symbol=usdc-weth`)).body.data).toEqual(forward.body.data)
      expect(inverse.body.credits_used).toBe(forward.body.credits_used)
    },
  )

  test.each(['WETH-USDC', 'USDC-WETH', 'ETH-DAI', 'DAI-ETH'])(
    'what the warning about %s advises gives the same prices',
    async (symbol) => {
      const question = `candles?interval=1h&limit=100&${RANGE}`
      const first = await ask(`${question}&symbol=${symbol}`)
      expect(first.status).toBe(200)
      const [advice = ''] = first.body.warning?.tip.split(': ') ?? []
      const named = [...advice.matchAll(/\b(?:symbol|pool|networks)=[^\s,]+/g)].map(([it]) => it)
      const suggested = [...(first.headers.get('X-API-Suggestion') ?? '').matchAll(/\b(?:pool|networks)=[^\s,]+/g)]
      expect(suggested.length).toBe(2)
      const second = await ask(`${question}&${named.join('&')}`)
      expect(second.headers.get('X-Market-Pair')).toBe(first.headers.get('X-Market-Pair'))
      expect(second.body.data).toEqual(first.body.data)
      expect(second.body.credits_used).toBeLessThan(first.body.credits_used)
    },
  )

  test.each([
    ['WBTC-USDC', POOLS.main.id, 'USDC-WETH or WETH-USDC'],
    ['WETH-DAI', POOLS.v4.id, 'ETH-USDC or USDC-ETH'],
    ['NOPE-NADA', POOLS.pepe.id, 'PEPE-WETH or WETH-PEPE'],
  ])('%s of the pool %s is refused with the pairs that it has', async (symbol, pool, pairs) => {
    for (const path of ['candles?interval=1h', 'ticks?limit=5']) {
      const { status, body } = await ask(`${path}&symbol=${symbol}&pool=${pool}`)
      expect(status).toBe(400)
      expect(body.code).toBe('invalid_parameters')
      expect(body.errors).toEqual([{ field: 'symbol', message: `must name the tokens of the pool: ${pairs}` }])
    }
  })

  test.each([
    [POOLS.v4.id, 'weth-usdc', 'WETH-USDC'],
    [POOLS.pepe.id, 'weth-pepe', 'WETH-PEPE'],
    [POOLS.dust.id, 'DÜST-WETH', 'D%C3%9CST-WETH'],
    [`${ARBITRUM_POOLS.dai.id}&networks=arbitrum`, 'dai-weth', 'DAI-WETH'],
  ])('the tokens of %s are called %s as anywhere', async (pool, symbol, pair) => {
    const { status, headers } = await ask(`ticks?pool=${pool}&symbol=${encodeURIComponent(symbol)}`)
    expect(status).toBe(symbol === 'weth-usdc' ? 400 : 200)
    if (status === 200) expect(headers.get('X-Market-Pair')).toBe(pair)
  })

  test('every answer to a good key says what is left, after it was paid', async () => {
    const range = `interval=1h&${RANGE}`
    const { headers: kept } = await ask(`candles?pool=${POOLS.main.id}&${range}`)
    const tag = kept.get('ETag') ?? ''
    expect(tag).not.toBe('')
    const cases: readonly [number, string, Record<string, string>?, string?][] = [
      [200, `candles?pool=${POOLS.main.id}&${range}`],
      [200, 'ticks?symbol=WETH-USDC'],
      [200, 'pools?symbol=WETH-USDC'],
      [200, 'usage'],
      [200, `candles?pool=${POOLS.main.id}&${range}`, {}, 'HEAD'],
      [304, `candles?pool=${POOLS.main.id}&${range}`, { 'If-None-Match': tag, 'Cache-Control': 'max-age=0' }],
      [400, 'candles?symbol=WETH'],
      [404, 'ticks?symbol=NOPE-WETH'],
      [404, `ticks?pool=0x${'9'.repeat(40)}`],
    ]
    for (const [expected, path, more, method] of cases) {
      const { status, headers } = await service.get(`/v0/${path}`, { 'X-API-KEY': service.key, ...more }, method)
      expect(status, path).toBe(expected)
      const { credits } = (await ask('usage')).body as unknown as Record<'credits', Record<'minute' | 'month', Row>>
      const { minute, month } = credits
      expect(headers.get('RateLimit'), path).toMatch(
        new RegExp(`^"minute";r=${minute['remaining']};t=\\d+, "month";r=${month['remaining']};t=\\d+$`),
      )
      expect(headers.get('RateLimit-Policy'), path).toMatch(
        new RegExp(`^"minute";q=${minute['limit']};w=60, "month";q=${month['limit']};w=\\d+$`),
      )
    }
    const stranger = await service.get('/v0/usage', { 'X-API-KEY': 'unknown' })
    expect([stranger.status, stranger.headers.get('RateLimit')]).toEqual([401, null])
  })
})
