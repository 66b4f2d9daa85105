import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { HAS_EXTRAS } from '../../../support/extras.ts'
import { Candles, ProblemBody } from '../../body.ts'
import { ARBITRUM_POOLS, minute, NETWORKS_SERVED, POOLS, storeScenario, TIP } from '../../scenario.ts'
import { type Service, startService } from '../../service.ts'

const MAIN = POOLS.main.id

describe.skipIf(withoutClickHouse)('GET /v0/candles', () => {
  let database: TestDatabase
  let service: Service
  let now = TIP + 10

  beforeAll(async () => {
    database = await freshDatabase()
    await storeScenario(database.client)
    const clock = () => new Date(now * 1000)
    service = await startService({ client: database.client, networks: NETWORKS_SERVED, clock })
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  async function ask(query: string) {
    const { status, body, headers } = await service.get(`/v0/candles?${query}`)
    expect(status, JSON.stringify(body)).toBe(200)
    return { ...Candles.parse(body), headers }
  }
  const times = (data: readonly { time: string }[]) => data.map(({ time }) => time.slice(11, 19))
  const code = async (query: string) => {
    const { body } = await service.get(`/v0/candles?${query}`)
    return ProblemBody.parse(body)
  }

  test('the newest candles up to now, the one in progress included', async () => {
    const { data, credits_used, warning, headers } = await ask(`pool=${MAIN}&interval=1h`)
    expect(data).toEqual([
      { time: '2024-01-05T00:00:00Z', open: 0.0005, high: 1 / 1900, low: 1 / 2200, close: 1 / 1900, volume: 3 },
      { time: '2024-01-05T01:00:00Z', open: 1 / 2050, high: 0.0005, low: 1 / 2050, close: 0.0005, volume: 3 },
      { time: '2024-01-05T02:00:00Z', open: 0.0005, high: 0.0005, low: 0.0005, close: 0.0005, volume: 0 },
    ])
    expect([credits_used, warning]).toEqual([1, undefined])
    expect(headers.get('x-api-suggestion')).toBeNull()
    expect(headers.get('cache-control')).toBe('private, no-store')
  })

  test('the other order flips everything: prices, high and low, volume', async () => {
    const { data, headers } = await ask('symbol=weth-usdc&interval=1h&limit=1&to=2024-01-05T00:59:00Z')
    expect(data).toEqual([
      {
        time: '2024-01-05T00:00:00Z',
        open: 1 / 0.0005,
        high: 1 / (1 / 2200),
        low: 1 / (1 / 1900),
        close: 1 / (1 / 1900),
        volume: 6100,
      },
    ])
    expect(headers.get('x-market-pair')).toBe('WETH-USDC')
  })

  test('a symbol is answered from its lead pool, with a warning and a suggestion that name it', async () => {
    const { warning, headers, credits_used } = await ask('symbol=WETH-USDC&interval=1h')
    expect(headers.get('x-market-pool')).toBe(MAIN)
    expect(headers.get('x-market-network')).toBe('ethereum')
    expect(warning?.message).toContain(MAIN)
    expect(warning?.message).toContain('USDC-WETH')
    expect(headers.get('x-api-suggestion')).toContain(`pool=${MAIN}`)
    expect(credits_used).toBe(2)
    if (!HAS_EXTRAS) return
    const page = await fetch(warning?.documentation_url ?? '')
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Credits')])
  })

  test('a symbol answer equals the pool answer', async () => {
    const bySymbol = await ask('symbol=USDC-WETH&interval=7m&limit=100')
    const byPool = await ask(`pool=${MAIN.toUpperCase().replace('0X', '0x')}&interval=7m&limit=100`)
    expect(bySymbol.data).toEqual(byPool.data)
    expect(bySymbol.data.length).toBeGreaterThan(10)
  })

  test('a small pool does not lead though it has most volume, unless nothing else traded in the range', async () => {
    const range = 'interval=1m&from=2024-01-05T00:00:00Z'
    const early = await ask(`symbol=WETH-USDC&${range}&to=2024-01-05T00:02:00Z`)
    expect(early.headers.get('x-market-pool')).toBe(POOLS.side.id)
    const late = await ask(`symbol=WETH-USDC&${range}&to=2024-01-05T00:20:00Z`)
    expect(late.headers.get('x-market-pool')).toBe(MAIN)
  })

  test('the last bucket runs on past to, the first one starts at from or later', async () => {
    const { data } = await ask(`pool=${MAIN}&interval=1h&from=2024-01-05T00:00:01Z&to=2024-01-05T01:00:01Z`)
    expect(data).toEqual([expect.objectContaining({ time: '2024-01-05T01:00:00Z', close: 0.0005, volume: 3 })])
  })

  test('empty buckets carry the close before, also from before the range', async () => {
    const { data } = await ask(`pool=${MAIN}&interval=1m&from=2024-01-05T00:30:00Z&to=2024-01-05T00:32:00Z`)
    const flat = { open: 1 / 1900, high: 1 / 1900, low: 1 / 1900, close: 1 / 1900, volume: 0 }
    expect(data).toEqual([
      { time: '2024-01-05T00:30:00Z', ...flat },
      { time: '2024-01-05T00:31:00Z', ...flat },
    ])
  })

  test('nothing is filled before the first stored trade', async () => {
    const { data } = await ask(`pool=${MAIN}&interval=1m&from=2024-01-05T00:05:00Z&to=2024-01-05T00:12:00Z`)
    expect(times(data)).toEqual(['00:10:00', '00:11:00'])
  })

  test('fill=none keeps the newest non-empty candles', async () => {
    const { data } = await ask(`pool=${MAIN}&interval=1m&from=2020-01-01&limit=2&fill=none`)
    expect(times(data)).toEqual(['01:01:00', '01:59:00'])
    expect(
      (await ask(`pool=${MAIN}&interval=1m&from=2024-01-05T00:30:00Z&to=2024-01-05T00:32:00Z&fill=none`)).data,
    ).toEqual([])
  })

  test('past the tip only up to now, and only while the network keeps up', async () => {
    const query = `pool=${MAIN}&interval=10s&from=2024-01-05T01:59:50Z&to=2024-01-05T03:00:00Z&limit=100`
    now = TIP + 25
    expect(times((await ask(query)).data).slice(-2)).toEqual(['02:00:40', '02:00:50'])
    now = TIP + 60
    expect(times((await ask(query)).data).slice(-2)).toEqual(['02:00:20', '02:00:30'])
    now = TIP + 10
  })

  test('a range in the future is empty', async () => {
    expect((await ask(`pool=${MAIN}&interval=1h&from=2030-01-01&to=2030-02-01`)).data).toEqual([])
    expect((await ask(`pool=${MAIN}&interval=1h&from=2030-01-01`)).data).toEqual([])
    expect((await ask(`pool=${MAIN}&interval=1s&from=0001-01-01&to=9999-12-31&limit=1`)).data).toHaveLength(1)
  })

  test('price=spot is the price after each swap', async () => {
    const { data } = await ask(`pool=${MAIN}&interval=1h&price=spot&limit=1&to=2024-01-05T00:30:00Z`)
    expect(data).toEqual([
      expect.objectContaining({ open: 0.0005, high: 0.0005, low: 0.0005, close: 0.0005, volume: 3 }),
    ])
  })

  test('Ethereum is asked first without networks, and more networks where it has no trade in the range', async () => {
    const expanded = await ask('symbol=WETH-DAI&interval=1h&limit=3')
    expect(expanded.headers.get('x-market-network')).toBe('arbitrum')
    expect(expanded.credits_used).toBe(4)
    const within = await ask('symbol=WETH-USDC&interval=1m&from=2024-01-05T00:30:00Z&to=2024-01-05T00:31:00Z')
    expect(within.headers.get('x-market-pool')).toBe(ARBITRUM_POOLS.main.id)
    const named = await ask('symbol=WETH-USDC&networks=arbitrum,ethereum&interval=1h')
    expect([named.headers.get('x-market-network'), named.credits_used]).toEqual(['ethereum', 3])
  })

  test('a filled candle is no result', async () => {
    // The pool on Ethereum could fill this minute; the one on Arbitrum traded in it.
    const { data, headers } = await ask(
      'symbol=USDC-WETH&interval=1m&from=2024-01-05T00:30:00Z&to=2024-01-05T00:31:00Z',
    )
    expect(headers.get('x-market-network')).toBe('arbitrum')
    expect(data).toEqual([expect.objectContaining({ open: 1 / 1990, volume: 1 })])
  })

  test('an id that is known on several networks: the first asked, or the first with a result where none is named', async () => {
    const id = POOLS.silent.id
    const network = async (query: string) =>
      (await ask(`pool=${id}&interval=1h${query}`)).headers.get('x-market-network')
    expect(await network('&networks=arbitrum,ethereum')).toBe('arbitrum')
    expect(await network('&networks=ethereum,arbitrum')).toBe('ethereum')
    expect(await network('')).toBe('ethereum')
  })

  test('a known pool without trades is 200 and empty', async () => {
    expect(await ask(`pool=${POOLS.silent.id}&interval=1h`)).toMatchObject({ data: [], credits_used: 1 })
  })

  test('a pool known on another network is a 404 that names it', async () => {
    const problem = await code(`pool=${ARBITRUM_POOLS.dai.id}&interval=1h&networks=ethereum`)
    expect(problem).toMatchObject({ code: 'unknown_pool', status: 404 })
    expect(problem.message).toContain('arbitrum')
  })

  test('unknown things are 404, each with its code', async () => {
    const codes = await Promise.all(
      [`pool=0x${'00'.repeat(20)}`, 'symbol=NOPE-WETH', 'symbol=WBTC-USDC', 'symbol=DAI-USDC&networks=base'].map(
        async (query) => (await code(`${query}&interval=1h`)).code,
      ),
    )
    expect(codes).toEqual(['unknown_pool', 'unknown_symbol', 'no_pool', 'unknown_symbol'])
  })

  test('a currency in the place of its token is a 404 that names the token', async () => {
    const problem = await code('symbol=weth-usd&interval=1h')
    expect(problem).toMatchObject({ code: 'unknown_symbol', status: 404 })
    expect(problem.message).toContain('Did you mean WETH-USDC?')
  })

  test('unlisted tokens answer where real money stands on the trusted side', async () => {
    expect((await ask('symbol=PEPE-WETH&interval=1h')).headers.get('x-market-pool')).toBe(POOLS.pepe.id)
    expect(await code(`symbol=${encodeURIComponent('DÜST-WETH')}&interval=1h`)).toMatchObject({ code: 'no_pool' })
    const { headers } = await ask(`pool=${POOLS.dust.id}&interval=1h`)
    expect(headers.get('x-market-pair')).toBe('WETH-D%C3%9CST')
  })

  test('ether twice is no pair', async () => {
    expect(await code('symbol=ETH-WETH&interval=1h')).toMatchObject({ code: 'invalid_parameters' })
  })

  test('credits count weeks from the oldest row to the end of the range, now at most', async () => {
    now = TIP + 15 * 86_400
    const query = `pool=${MAIN}&interval=1d&from=2024-01-05&fill=none`
    expect((await ask(`${query}&to=2030-01-01`)).credits_used).toBe(3)
    expect((await ask(`${query}&to=2024-01-11T23:59:59Z`)).credits_used).toBe(1)
    expect((await ask(`${query}&to=2024-01-12`)).credits_used).toBe(2)
    now = TIP + 10
  })

  test('a range that is over has an ETag, and a 304 costs what its 200 cost', async () => {
    const path = `/v0/candles?pool=${MAIN}&interval=1h&from=2024-01-05&to=2024-01-05T02:00:00Z`
    const first = await service.get(path)
    const etag = first.headers.get('etag') ?? ''
    const used = async () => (await service.get('/v0/usage')).body as { credits: { month: { used: number } } }
    const before = (await used()).credits.month.used
    // Without its own Cache-Control, fetch would ask for a fresh copy.
    const headers = { 'X-API-KEY': service.key, 'If-None-Match': etag, 'Cache-Control': 'max-age=0' }
    const again = await service.get(path, headers)
    expect([first.status, again.status, again.body]).toEqual([200, 304, ''])
    expect((await used()).credits.month.used).toBe(before + 1)
    expect(first.headers.get('cache-control')).toBe('private, no-cache')
  })

  test('a minute is closed by the tip, not by the clock', async () => {
    now = TIP + 3_600
    const { headers } = await ask(`pool=${MAIN}&interval=1m&from=2024-01-05T01:58:00Z&to=2024-01-05T02:01:00Z`)
    expect(headers.get('etag')).toBeNull()
    now = TIP + 10
    expect(minute(121)).toBeGreaterThan(TIP)
  })
})
