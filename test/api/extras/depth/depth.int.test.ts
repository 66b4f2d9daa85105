/** `/v0/depth`: shape, direction, dollars, cost, headers and errors, and no level where positions may be missing. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { tickAtSqrtPrice } from '../../../../api/market/pools/tick-math.ts'
import type { Pool } from '../../../../ingest/model/pool.ts'
import { intercepted, queryOf } from '../../../aggregator/statements.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { addressOf, block, hashOf, liquidity, openStore, poolOf, tick } from '../../../support/store.ts'
import { NETWORKS_SERVED, POOLS, sqrtPrice } from '../../scenario.ts'
import { type Reply, type Service, startService } from '../../service.ts'

const END = Date.UTC(2024, 0, 6) / 1_000
const NET_LIQUIDITY = queryOf('api/extras/depth/net-liquidity.sql')

const { token0: USDC, token1: WETH } = POOLS.main
/** 2,268 USDC for one ether. */
const PRICE = sqrtPrice(10n ** 18n, 2_268_000_000n)
const TICK = tickAtSqrtPrice(PRICE)
const MIDDLE = Math.floor(TICK / 10) * 10
const LIQUIDITY = 11_687_005_496_855_121_730n
const X = { address: addressOf('a1'), symbol: 'XXX', name: 'X', decimals: 18 }
const Y = { address: addressOf('a2'), symbol: 'YYY', name: 'Y', decimals: 18 }
const one = { initialSqrtPriceX96: 2n ** 96n }

const main: Pool = { ...POOLS.main, initialSqrtPriceX96: PRICE }
/** A swap whose liquidity is more than what was minted. */
const short = poolOf(addressOf('b1'), USDC, WETH, { initialSqrtPriceX96: PRICE, fee: 3_000 })
/** Its creation is not stored. */
const older = poolOf(addressOf('b2'), USDC, WETH, { fee: 10_000 })
/** More is burnt outside of the price than is known to be minted. */
const burnt = poolOf(addressOf('b3'), X, Y, { ...one, fee: 3_000 })
/** Neither token has a price. */
const unpriced = poolOf(addressOf('b4'), X, Y, { ...one, fee: 500 })
/** Its provider changed positions 300,000 times, on every tick. */
const crowded = poolOf(addressOf('b5'), X, Y, { ...one, fee: 100 })

const Decimal = z.string().regex(/^\d+(\.\d+)?$/)
const Amounts = z.strictObject({ base: Decimal, quote: Decimal, usd: z.number().nullable() })
const Depth = z.strictObject({
  data: z.strictObject({
    price: z.number().nullable(),
    time: z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/),
    block: z.int(),
    isComplete: z.boolean(),
    levels: z.array(z.strictObject({ percent: z.number(), buy: Amounts, sell: Amounts })),
  }),
  credits_used: z.int(),
})

function swap(pool: Pool, logIndex: number, inRange: bigint) {
  return tick({
    ...{ pool, logIndex, amount0: -2_268_000_000n, amount1: 10n ** 18n, usdMicros: 2_268_000_000n },
    ...{ sqrtPriceX96: PRICE, poolTick: TICK, liquidity: inRange },
  })
}

describe.skipIf(withoutClickHouse)('depth', () => {
  let database: TestDatabase
  let service: Service
  let statements = 0

  beforeAll(async () => {
    database = await freshDatabase()
    const { client } = database
    const pools = [main, short, older, burnt, unpriced, crowded]
    await openStore(
      client,
      'ethereum',
    )([
      block(100, END - 3_600, {
        pools,
        liquidity: [
          liquidity(main, 1, MIDDLE - 20_000, MIDDLE + 20_000, LIQUIDITY),
          liquidity(main, 2, MIDDLE + 200, MIDDLE + 400, 3n * LIQUIDITY),
          liquidity(short, 3, MIDDLE - 6_000, MIDDLE + 6_000, LIQUIDITY),
          liquidity(older, 4, MIDDLE - 20_000, MIDDLE + 20_000, LIQUIDITY),
          liquidity(burnt, 5, -6_000, 6_000, LIQUIDITY),
          liquidity(burnt, 6, 60, 120, -5n),
          liquidity(unpriced, 7, -6_000, 6_000, 10n ** 21n),
        ],
      }),
      block(110, END - 600, {
        ticks: [swap(main, 1, LIQUIDITY), swap(short, 2, LIQUIDITY + 1n), swap(older, 3, LIQUIDITY)],
      }),
      // After the last swap: it is in range now, and was not in that swap's liquidity.
      block(111, END - 500, { liquidity: [liquidity(main, 1, MIDDLE - 100, MIDDLE + 100, LIQUIDITY)] }),
      block(120, END - 1),
    ])
    await client.command({
      query: `INSERT INTO liquidity_changes (network, pool, block, log_index, time, tick_lower, tick_upper, liquidity_delta, version, is_deleted)
        SELECT 'ethereum', '${crowded.id}', 101 + number % 10, intDiv(number, 10), ${END - 3_000}, number % 2000 - 1000, 1001 + number % 1999, 1e18, 1, 0 FROM numbers(300000)`,
    })
    const reader = intercepted(client, (send, _statement, [asked]) => {
      if (NET_LIQUIDITY.test((asked as { query: string }).query)) statements++
      return send()
    })
    service = await startService({ client: reader, networks: NETWORKS_SERVED, clock: () => new Date(END * 1_000) })
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  async function ask(query: string) {
    const reply = await service.get(`/v0/depth?${query}`)
    expect(reply.status, JSON.stringify(reply.body)).toBe(200)
    return { ...Depth.parse(reply.body), headers: reply.headers }
  }
  const spent = async () => {
    const { body } = await service.get('/v0/usage')
    return (body as { credits: { minute: { used: number } } }).credits.minute.used
  }

  test('has a level for each percentage, in the direction of the pair, from the newest block', async () => {
    const { data } = await ask(`pool=${main.id}&symbol=WETH-USDC`)
    expect(data).toMatchObject({ block: 120, time: '2024-01-05T23:59:59Z', isComplete: true })
    expect(data.price).toBeCloseTo(2_268, 6)
    expect(data.levels.map(({ percent }) => percent)).toEqual([0.1, 0.5, 1, 2, 5])
    for (const { percent, buy, sell } of data.levels) {
      const [bought, sold] = [buy, sell].map(({ base, quote }) => Number(quote) / Number(base)) as [number, number]
      // The average price of a swap between two prices is their geometric mean.
      expect(bought).toBeGreaterThan(2_268)
      expect(bought).toBeLessThan(2_268 * (1 + percent / 100))
      expect(sold).toBeLessThan(2_268)
      expect(sold).toBeGreaterThan(2_268 * (1 - percent / 100))
      expect(buy.usd).toBeCloseTo(Number(buy.quote), 5)
    }
  })

  test('counts the liquidity of positions between their ticks, and of those that were minted after the last swap', async () => {
    const { data } = await ask(`pool=${main.id}`)
    // √price · L, in whole tokens: twice the liquidity up to a tick near 0.5 %, once from there on.
    const root = Number(PRICE) / 2 ** 96
    const [tenth] = data.levels
    const paid = (2 * Number(LIQUIDITY) * root * (Math.sqrt(1.001) - 1)) / 1e18
    expect(Number(tenth?.buy.quote) / paid).toBeCloseTo(1, 9)
  })

  test('of the inverse pair has the inverse price, and amounts of the other token', async () => {
    const [forward, inverse] = [
      await ask(`pool=${main.id}&symbol=USDC-WETH`),
      await ask(`pool=${main.id}&symbol=WETH-USDC`),
    ]
    expect(inverse.data.price).toBeCloseTo(1 / (forward.data.price ?? 0), 6)
    expect((await ask(`pool=${main.id}`)).data).toEqual(forward.data)
    for (const [index, { buy }] of forward.data.levels.entries()) {
      const sell = inverse.data.levels[index]?.sell
      // A fall of the inverse price by p is a rise of this one by a little more than p.
      expect(Number(sell?.quote)).toBeGreaterThan(Number(buy.base))
      expect(Number(sell?.quote) / Number(buy.base)).toBeLessThan(1.2)
    }
  })

  test('is the example of the reference', async () => {
    const request = '/v0/depth?symbol=WETH-USDC'
    const { body } = await service.get(request)
    const text = `${JSON.stringify({ request, body }, null, 2)}\n`
    await expect(text).toMatchFileSnapshot('../../../../api/extras/depth/example.json')
  })

  test('has no level where stored positions do not add up to the liquidity, or blocks of the pool are missing', async () => {
    for (const pool of [short, older, burnt]) {
      const { data } = await ask(`pool=${pool.id}`)
      expect(data, pool.id).toMatchObject({ isComplete: false, levels: [], price: expect.any(Number) })
    }
  })

  test('has no dollars where neither token has a price', async () => {
    const { data } = await ask(`pool=${unpriced.id}`)
    expect(data.levels.flatMap(({ buy, sell }) => [buy.usd, sell.usd])).toEqual(Array(10).fill(null))
    expect(data).toMatchObject({ isComplete: true, price: 1 })
  })

  test('of a pool with 300,000 changes reads one statement of bounded rows for all requests at once', async () => {
    const before = statements
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(`pool=${crowded.id}`)))
    expect(statements - before).toBe(1)
    expect(answers[0]?.data).toMatchObject({ isComplete: true })
    expect(new Set(answers.map(({ data }) => JSON.stringify(data))).size).toBe(1)
  })

  test('costs one credit, and one for each network that is searched for a symbol', async () => {
    const before = await spent()
    expect((await ask(`pool=${main.id}`)).credits_used).toBe(1)
    expect((await ask(`pool=${main.id}&symbol=WETH-USDC`)).credits_used).toBe(1)
    expect((await ask('symbol=WETH-USDC')).credits_used).toBe(2)
    expect((await ask('symbol=WETH-USDC&networks=ethereum,arbitrum')).credits_used).toBe(3)
    expect((await spent()) - before).toBe(7)
  })

  test('names its pool in the headers, and is not kept', async () => {
    const { headers } = await ask('symbol=WETH-USDC')
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-market-network': 'ethereum',
      'x-market-pool': main.id,
      'x-market-venue': 'uniswap',
      'x-market-pair': 'WETH-USDC',
      'cache-control': 'private, no-store',
      ratelimit: expect.any(String),
    })
  })

  test.each([
    ['', 400, 'symbol'],
    ['symbol=WETH', 400, 'symbol'],
    ['pool=0x12', 400, 'pool'],
    [`pool=${main.id}&pool=${main.id}`, 400, 'pool'],
    [`pool=${main.id}&networks=mars`, 400, 'networks'],
    [`pool=${main.id}&symbol=XXX-YYY`, 400, 'symbol'],
    [`pool=${hashOf('none')}`, 404, undefined],
    ['symbol=NOPE-WETH', 404, undefined],
  ])('%s is refused with %i, and with the field', async (query, status, field) => {
    const { status: answered, body }: Reply = await service.get(`/v0/depth?${query}`)
    expect(answered).toBe(status)
    const { errors } = body as { errors?: { field: string }[] }
    expect(errors?.map((error) => error.field)).toEqual(field === undefined ? undefined : [field])
  })

  test('needs a key', async () => {
    expect((await service.get(`/v0/depth?pool=${main.id}`, {})).status).toBe(401)
  })
})
