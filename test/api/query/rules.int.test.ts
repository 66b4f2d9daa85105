/** Rules of the interface and of our design, one test each, over a market of spring 2024 that is full of traps. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Pool } from '../../../ingest/model/pool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { addressOf, balance, block, openStore, poolOf, tick } from '../../support/store.ts'
import { Candles, Pools, ProblemBody, Ticks } from '../body.ts'
import { NETWORKS_SERVED, POOLS, sqrtPrice } from '../scenario.ts'
import { type Service, startService } from '../service.ts'

const WETH = POOLS.main.token1
const USDC = POOLS.main.token0
const FAKE = { address: addressOf('fa'), symbol: 'USDC', name: 'USD Coin', decimals: 6 }
const HYPHENED = { address: addressOf('f1'), symbol: 'LP-A', name: 'Liquidity of A', decimals: 18 }
const POLYGON_WETH = { ...WETH, address: '0x7ceb23fd6bc0add59e62ac25578270cff1b9f619' } as const
const POLYGON_USDC = { ...USDC, address: '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359' } as const
/** Its contract says USDC. */
const BRIDGED = { ...USDC, address: '0x2791bca1f2de4661ed88a30c99a7a9449aa84174', name: 'USD Coin (PoS)' } as const

const MAIN = POOLS.main
const V4 = POOLS.v4
const FAKED = poolOf(addressOf('fb'), WETH, FAKE)
const LIQUID = poolOf(addressOf('fc'), HYPHENED, WETH)
const QUIET = poolOf(addressOf('fd'), USDC, WETH, { fee: 100 })
const NATIVE_BRIDGE = poolOf(addressOf('e1'), POLYGON_USDC, BRIDGED)
const BRIDGED_WETH = poolOf(addressOf('e2'), BRIDGED, POLYGON_WETH)

const at = (time: string) => Date.parse(time) / 1000
const TIP = at('2024-04-02T12:00:10Z')
const DOLLAR = 10n ** 6n
const ETHER = 10n ** 18n
/** The days that begin and end oddly: a leap day, and the nights in which the clocks of New York and Paris change. */
const TRADES = [
  '2024-02-28T23:59:59Z',
  '2024-02-29T00:00:00Z',
  '2024-02-29T23:59:59Z',
  '2024-03-01T00:00:00Z',
  '2024-03-10T06:59:59Z',
  '2024-03-10T07:00:00Z',
  '2024-03-31T00:59:59Z',
  '2024-03-31T01:00:00Z',
  '2024-04-02T11:00:00Z',
  '2024-04-02T12:00:05Z',
]

let log = 0
/** Odd amounts, so that prices are not round. */
function swap(pool: Pool, amount0: bigint, amount1: bigint, usd: bigint) {
  log += 1
  const [half, whole] = [amount0 < 0n ? -amount0 : amount0, amount1 < 0n ? -amount1 : amount1]
  return tick({
    pool,
    logIndex: log,
    amount0,
    amount1,
    sqrtPriceX96: sqrtPrice(whole, half + 7n),
    usdMicros: usd * DOLLAR,
  })
}

describe.skipIf(withoutClickHouse)('the rules', () => {
  let database: TestDatabase
  let service: Service
  let store: ReturnType<typeof openStore>
  let now = TIP + 5

  beforeAll(async () => {
    database = await freshDatabase()
    store = openStore(database.client, 'ethereum')
    log = 0
    const pools = [MAIN, V4, FAKED, LIQUID, QUIET]
    await store([
      block(100, at('2024-02-28T00:00:00Z'), { pools }),
      ...TRADES.map((time, index) => {
        const usdc = 3_000_123_457n + 17n * BigInt(index) ** 5n
        const [paid, got] = index % 2 === 0 ? [-usdc, ETHER] : [usdc, -ETHER - 3n]
        return block(101 + index, at(time), {
          ticks: [
            swap(MAIN, paid, got, 3_000n),
            swap(V4, got, paid, 3_000n),
            swap(LIQUID, ETHER * 3n, -ETHER, 3_000n),
            // A fake token whose pool has a thousand times the volume.
            ...Array.from({ length: 3 }, () => swap(FAKED, 1_000n * ETHER, -paid, 3_000_000n)),
          ],
        })
      }),
      block(200, TIP, {
        balances: [
          balance(MAIN, 10n ** 6n * DOLLAR, 500n * ETHER),
          balance(QUIET, 10n ** 7n * DOLLAR, 500n * ETHER),
          balance(FAKED, 500n * ETHER, 10n ** 6n * DOLLAR),
          balance(LIQUID, ETHER, 500n * ETHER),
        ],
      }),
    ])
    await openStore(
      database.client,
      'polygon',
    )([
      block(10, at('2024-04-02T11:00:00Z'), {
        pools: [NATIVE_BRIDGE, BRIDGED_WETH],
        ticks: [
          swap(NATIVE_BRIDGE, -DOLLAR * 5n, DOLLAR * 5n, 5n),
          swap(BRIDGED_WETH, -DOLLAR * 3_000n, ETHER, 3_000n),
        ],
      }),
      block(20, TIP),
    ])
    // Of a network of which nothing is stored no pool is told of.
    await openStore(database.client, 'arbitrum')([block(10, TIP)])
    const clock = () => new Date(now * 1000)
    service = await startService({ client: database.client, networks: NETWORKS_SERVED, clock })
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  async function candles(query: string) {
    const { status, body, headers } = await service.get(`/v0/candles?${query}`)
    expect(status, JSON.stringify(body)).toBe(200)
    return { ...Candles.parse(body), headers }
  }
  async function ticks(query: string) {
    const { status, body, headers } = await service.get(`/v0/ticks?${query}`)
    expect(status, JSON.stringify(body)).toBe(200)
    return { ...Ticks.parse(body), headers }
  }
  const poolFor = async (symbol: string, more = '') =>
    (await candles(`symbol=${symbol}&interval=1h${more}`)).headers.get('x-market-pool')
  const problem = async (path: string) => ProblemBody.parse((await service.get(path)).body)

  test.each(['1s', '59s', '90s', '86399s', '7m', '45m', '1440m', '5h', '23h', '24h', '86400s', '1d'])(
    'intervals have any number and unit, up to a day: %s',
    async (interval) => {
      const seconds = Number(interval.slice(0, -1)) * ({ s: 1, m: 60, h: 3_600, d: 86_400 }[interval.slice(-1)] ?? NaN)
      const { data } = await candles(`pool=${MAIN.id}&interval=${interval}&from=2024-02-01&limit=100&fill=none`)
      expect(data.length).toBeGreaterThanOrEqual(5)
      expect(data.filter(({ time }) => at(time) % seconds !== 0)).toEqual([])
      const held = (time: string) =>
        data.some((candle) => at(candle.time) <= at(time) && at(time) < at(candle.time) + seconds)
      expect(TRADES.filter((time) => !held(time))).toEqual([])
    },
  )

  test.each(['0m', '25h', '1w', '1.5h', '2d', '86401s', '1441m', '1', 'h', '1H', '01h', '-1h', `${'9'.repeat(400)}s`])(
    'no other interval is taken: %s',
    async (interval) => {
      const { status, errors } = await problem(`/v0/candles?pool=${MAIN.id}&interval=${interval}`)
      expect([status, errors?.map(({ field }) => field)]).toEqual([400, ['interval']])
    },
  )

  test('a moment may be written in many forms, and all of them mean it', async () => {
    const forms = [
      '2024-03-10T07:00:00Z',
      '2024-03-10T07:00:00',
      '2024-03-10t07:00:00z',
      '2024-03-10T07:00:00.000Z',
      '2024-03-10T07:00:00%2B00:00',
      '2024-03-10T07:00:00+0000',
      '2024-03-10T02:00:00-05:00',
      '2024-03-10T12:30:00+05:30',
      '2024-03-10T06:59:59.0000000001Z',
    ]
    const times = async (query: string) =>
      (await ticks(`pool=${MAIN.id}&${query}`)).data.map(({ timestamp }) => timestamp)
    for (const form of forms) {
      expect(await times(`from=${form}&to=2024-03-11`), form).toEqual(['2024-03-10T07:00:00Z'])
      expect(await times(`from=2024-03-10&to=${form}`), form).toEqual(['2024-03-10T06:59:59Z'])
    }
  })

  test('limit is 5 for candles and 100 for ticks where it is not given, and keeps the newest of a range', async () => {
    const whole = 'from=2024-02-28&to=2024-04-01'
    const { data } = await candles(`pool=${MAIN.id}&interval=1d&${whole}`)
    expect(data.map(({ time }) => time.slice(0, 10))).toEqual([27, 28, 29, 30, 31].map((day) => `2024-03-${day}`))
    expect((await ticks(`pool=${MAIN.id}&${whole}&limit=2`)).data.map(({ timestamp }) => timestamp)).toEqual([
      '2024-03-31T00:59:59Z',
      '2024-03-31T01:00:00Z',
    ])
    expect((await problem(`/v0/candles?pool=${MAIN.id}&interval=1d&limit=101`)).status).toBe(400)
    expect((await problem(`/v0/ticks?pool=${MAIN.id}&limit=1001`)).status).toBe(400)
    expect((await ticks(`pool=${MAIN.id}&${whole}&limit=1000`)).data).toHaveLength(8)
  })

  test.each(['execution', 'spot'])('both orientations are reciprocal to the last bit: %s', async (price) => {
    const range = `from=2024-02-28&to=2024-04-03&limit=100&price=${price}&networks=ethereum`
    const forward = await candles(`symbol=USDC-WETH&interval=1d&fill=none&${range}`)
    const flipped = await candles(`symbol=WETH-USDC&interval=1d&fill=none&${range}`)
    expect(flipped.data.map(({ volume: _volume, ...prices }) => prices)).toEqual(
      forward.data.map(({ time, open, high, low, close }) => ({
        time,
        open: 1 / open,
        high: 1 / low,
        low: 1 / high,
        close: 1 / close,
      })),
    )
    const one = await ticks(`symbol=USDC-WETH&${range}`)
    const other = await ticks(`symbol=WETH-USDC&${range}`)
    expect(one.data).toHaveLength(TRADES.length)
    expect(other.data).toEqual(
      one.data.map((row) => ({
        ...row,
        price: 1 / row.price,
        side: row.side === 'buy' ? 'sell' : 'buy',
        token0: row.token1,
        token1: row.token0,
        amount0: row.amount1,
        amount1: row.amount0,
      })),
    )
  })

  test('a fake token with a listed symbol never answers for it, whatever its volume', async () => {
    expect(await poolFor('WETH-USDC')).toBe(MAIN.id)
    const pools = Pools.parse((await service.get('/v0/pools?symbol=WETH-USDC')).body)
    expect(pools.data.map(({ id }) => id)).not.toContain(FAKED.id)
    // By its address it may be asked for.
    expect((await candles(`pool=${FAKED.id}&interval=1d`)).headers.get('x-market-pair')).toBe('WETH-USDC')
  })

  test('a symbol with a hyphen of its own is found on either side', async () => {
    const { headers } = await candles('symbol=LP-A-WETH&interval=1h')
    expect([headers.get('x-market-pool'), headers.get('x-market-pair')]).toEqual([LIQUID.id, 'LP-A-WETH'])
    expect(await poolFor('weth-lp-a')).toBe(LIQUID.id)
    expect((await problem('/v0/candles?symbol=LP-WETH&interval=1h')).code).toBe('unknown_symbol')
  })

  test('ETH is WETH and the native token of v4, WETH is WETH alone', async () => {
    const ids = async (symbol: string) =>
      Pools.parse((await service.get(`/v0/pools?symbol=${symbol}`)).body)
        .data.filter(({ network }) => network === 'ethereum')
        .map(({ id }) => id)
        .sort()
    expect(await ids('ETH-USDC')).toEqual([V4.id, MAIN.id, QUIET.id].sort())
    expect(await ids('WETH-USDC')).toEqual([MAIN.id, QUIET.id].sort())
    const { headers } = await candles(`pool=${V4.id}&interval=1h`)
    expect(headers.get('x-market-pair')).toBe('ETH-USDC')
    expect((await problem('/v0/candles?symbol=WETH-ETH&interval=1h')).code).toBe('invalid_parameters')
  })

  test('USDC and USDC.e are two tokens, and each is told from the other', async () => {
    const { headers } = await candles('symbol=WETH-USDC.e&interval=1h&networks=polygon')
    expect([headers.get('x-market-pool'), headers.get('x-market-pair')]).toEqual([BRIDGED_WETH.id, 'WETH-USDC.e'])
    const both = await candles('symbol=USDC-USDC.e&interval=1h&networks=polygon')
    expect([both.headers.get('x-market-pool'), both.headers.get('x-market-pair')]).toEqual([
      NATIVE_BRIDGE.id,
      'USDC-USDC.e',
    ])
    const { code } = await problem('/v0/candles?symbol=USDC-USDC.e&interval=1h&networks=arbitrum')
    expect(code).toBe('no_pool')
  })

  test('letter case is nothing, in symbols and in ids', async () => {
    for (const symbol of ['weth-usdc', 'WETH-USDC', 'wEtH-uSdC']) expect(await poolFor(symbol)).toBe(MAIN.id)
    const plain = await candles(`pool=${V4.id}&interval=1d&limit=40`)
    const upper = await candles(`pool=0x${V4.id.slice(2).toUpperCase()}&interval=1d&limit=40`)
    expect(upper.data).toEqual(plain.data)
    expect(plain.data.length).toBeGreaterThan(30)
  })

  test('a pool without trades never leads where another traded, however rich it is', async () => {
    expect(await poolFor('USDC-WETH')).toBe(MAIN.id)
    expect((await candles(`pool=${QUIET.id}&interval=1d&from=2024-02-01&limit=100`)).data).toEqual([])
  })

  test('the candle in progress holds what was traded so far, and is not to be kept', async () => {
    const ask = () => candles(`pool=${MAIN.id}&interval=1h&limit=1`)
    const before = await ask()
    expect(before.data).toEqual([expect.objectContaining({ time: '2024-04-02T12:00:00Z', volume: 1 })])
    expect(before.headers.get('cache-control')).toBe('private, no-store')
    expect(before.headers.get('etag')).toBeNull()
    await store([block(201, TIP + 12, { ticks: [swap(MAIN, -4_000n * DOLLAR, ETHER, 4_000n)] })])
    now = TIP + 17
    const [after] = (await ask()).data
    expect(after).toMatchObject({ open: before.data[0]?.open, close: 1 / 4_000, volume: 2 })
  })

  test('days are days of UTC, also in the nights in which clocks change and about a leap day', async () => {
    const { data } = await candles(`pool=${MAIN.id}&interval=1d&from=2024-02-28&to=2024-04-02&limit=100`)
    const days = Array.from({ length: 34 }, (_, day) =>
      new Date(Date.UTC(2024, 1, 28 + day)).toISOString().slice(0, 10),
    )
    expect(data.map(({ time }) => time)).toEqual(days.map((day) => `${day}T00:00:00Z`))
    const traded = data
      .filter(({ volume }) => volume > 0)
      .map(({ time, volume }) => [time.slice(5, 10), Math.round(volume)])
    expect(traded).toEqual([
      ['02-28', 1],
      ['02-29', 2],
      ['03-01', 1],
      ['03-10', 2],
      ['03-31', 2],
    ])
    // New York's night of 10 March has 24 hours here, and Paris's of 31 March too.
    for (const day of ['2024-03-10', '2024-03-31']) {
      const hours = await candles(`pool=${MAIN.id}&interval=1h&from=${day}&to=${day}T23:59:59Z&limit=100`)
      expect(hours.data.map(({ time }) => Number(time.slice(11, 13)))).toEqual(
        Array.from({ length: 24 }, (_, hour) => hour),
      )
    }
    expect((await problem(`/v0/ticks?pool=${MAIN.id}&from=2023-02-29`)).status).toBe(400)
  })

  test.each([
    'from=0000-01-01&to=0001-01-01',
    'from=0001-01-01&to=1970-01-01',
    'to=1969-12-31T23:59:59Z',
    'from=1969-12-31&to=1970-01-02',
    'from=2024-04-03',
    'from=2030-01-01&to=2100-01-01',
    'from=9999-12-31T23:59:59.9-23:59',
    'from=9999-12-30&to=9999-12-31T23:59:59-23:59',
  ])('the far past and the future are empty: %s', async (range) => {
    for (const fill of ['previous', 'none'])
      expect((await candles(`pool=${MAIN.id}&interval=1d&${range}&fill=${fill}`)).data).toEqual([])
    expect((await candles(`symbol=WETH-USDC&interval=1s&${range}`)).data).toEqual([])
    expect((await ticks(`pool=${MAIN.id}&${range}`)).data).toEqual([])
  })

  test('the warning and the suggestion are for symbols, and for candles alone', async () => {
    const bySymbol = await candles('symbol=WETH-USDC&interval=1h')
    expect([bySymbol.warning, bySymbol.headers.get('x-api-suggestion')]).not.toContain(undefined)
    const byPool = await candles(`pool=${MAIN.id}&interval=1h`)
    expect([byPool.warning, byPool.headers.get('x-api-suggestion')]).toEqual([undefined, null])
    expect((await ticks('symbol=WETH-USDC')).headers.get('x-api-suggestion')).toBeNull()
  })
})
