/** `/v0/pools/new`: what counts is held over time, whatever is created or traded beside it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PoolListBody } from '../../../../api/extras/pool-lists/operation.ts'
import type { Pool } from '../../../../ingest/model/pool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { addressOf, block, liquidity, openStore, poolOf, tick } from '../../../support/store.ts'
import { buyEther, NETWORKS_SERVED, POOLS, sqrtPrice } from '../../scenario.ts'
import { type Service, startService } from '../../service.ts'

const NOW = Date.UTC(2024, 0, 7, 12) / 1_000
const DAY = 86_400
const ETHER = 10n ** 18n
const [FULL_LOW, FULL_HIGH] = [-887_220, 887_220]

const { token0: PEPE, token1: WETH } = POOLS.pepe
const { token1: DUST } = POOLS.dust
const even = { initialSqrtPriceX96: sqrtPrice(1n, 1n) }
const v4 = (digits: string) => poolOf(`0x${digits.repeat(32)}`, POOLS.v4.token0, PEPE, { protocol: 'dex-v4', ...even })

describe.skipIf(withoutClickHouse)('new pools', () => {
  let database: TestDatabase
  let service: Service
  let number = 100
  let store: ReturnType<typeof openStore>

  beforeAll(async () => {
    database = await freshDatabase()
    service = await startService({
      client: database.client,
      networks: NETWORKS_SERVED,
      clock: () => new Date(NOW * 1_000),
    })
    store = openStore(database.client, 'ethereum')
    await add(NOW - 9 * DAY, { pools: [POOLS.main], ticks: [buyEther(POOLS.main, ETHER, 2_000n)] })
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  async function add(timestamp: number, more: Parameters<typeof block>[2]): Promise<void> {
    number += 1
    await store([block(number, timestamp, more)])
  }
  /** A position over all prices; at the price of 1 its ether counts a dollar for 1 / 2,000. */
  const position = (pool: Pool, ether: bigint, log = 1) => liquidity(pool, log, FULL_LOW, FULL_HIGH, ether * ETHER)
  const list = async (query = '') => (await service.get(`/v0/pools/new?${query}`)).body as PoolListBody
  const newest = async (query = '') => (await list(query)).data.map(({ id }) => id)
  const timeOf = (seconds: number) => new Date(seconds * 1_000).toISOString().replace('.000', '')

  const held = poolOf(addressOf('a1'), PEPE, WETH, { fee: 3_000, ...even })
  const native = v4('a2')
  const old = poolOf(addressOf('a3'), PEPE, WETH, { fee: 100, ...even })

  test('are those of the last week with a trusted token, newest first, with their figures', async () => {
    expect(await newest()).toEqual([])
    await add(NOW - 8 * DAY, { pools: [old], liquidity: [position(old, 100n)] })
    await add(NOW - 3 * DAY, { pools: [held], liquidity: [position(held, 100n)] })
    await add(NOW - 2 * DAY, { pools: [native], liquidity: [position(native, 50n)] })
    const { data: rows, credits_used, next_cursor } = await list()
    expect(rows.map(({ id, firstSeen }) => [id, firstSeen])).toEqual([
      [native.id, timeOf(NOW - 2 * DAY)],
      [held.id, timeOf(NOW - 3 * DAY)],
    ])
    expect(rows[0]).toMatchObject({
      symbol: 'ETH-PEPE',
      network: 'ethereum',
      isTrusted: false,
      buys24h: 0,
      sells24h: 0,
    })
    expect(Number(rows[0]?.totalValueLockedUSD)).toBeCloseTo(100_000, -2)
    expect([credits_used, next_cursor]).toEqual([1, null])
  })

  test('are answered as the document shows', async () => {
    const request = '/v0/pools/new?maxAge=4d&limit=1'
    const { body } = await service.get(request)
    await expect(`${JSON.stringify({ request, body }, null, 2)}\n`).toMatchFileSnapshot(
      '../../../../api/extras/pool-lists/new-pools.json',
    )
  })

  test('are filtered by age, value, network and venue', async () => {
    expect(await newest('maxAge=60h')).toEqual([native.id])
    expect(await newest('minAge=60h')).toEqual([held.id])
    expect(await newest('minHeldUSD=150000')).toEqual([held.id])
    expect(await newest('networks=ethereum,arbitrum')).toEqual([native.id, held.id])
    expect((await service.get('/v0/pools/new?networks=arbitrum')).status).toBe(503)
    expect(await newest('venues=sushi')).toEqual([])
    expect(await newest('sort=value')).toEqual([held.id, native.id])
    // Neither has traded.
    expect(await newest('minChange=-1')).toEqual([])
  })

  test('follow the price of their last swap, not the one that they began with', async () => {
    // No ether is left below this price: what is minted over it is the other token alone.
    const drained = poolOf(addressOf('a4'), PEPE, WETH, { fee: 500, ...even })
    const swap = { pool: drained, amount0: 1n, amount1: -1n, sqrtPriceX96: sqrtPrice(1n, 100n), poolTick: -46_055 }
    await add(NOW - 2 * DAY + 60, {
      pools: [drained],
      ticks: [tick({ ...swap, logIndex: 1 })],
      liquidity: [liquidity(drained, 2, -600, 600, 10_000n * ETHER)],
    })
    expect(await newest()).toEqual([native.id, held.id])
  })

  test('are not hidden by pools that hold nothing, or not for long, or nothing of worth', async () => {
    const empty = Array.from({ length: 3_000 }, (_, index) =>
      poolOf(`0x${index.toString(16).padStart(64, 'e')}`, POOLS.v4.token0, PEPE, { protocol: 'dex-v4', ...even }),
    )
    const washed = poolOf(addressOf('b1'), PEPE, WETH, even)
    const brief = poolOf(addressOf('b2'), PEPE, WETH, even)
    const worthless = poolOf(addressOf('b3'), PEPE, DUST, even)
    const unseen = poolOf(addressOf('b4'), PEPE, WETH)
    await add(NOW - 7_200, {
      pools: [...empty, washed, brief, worthless, unseen],
      liquidity: [
        position(brief, 1_000_000n, 1),
        position(brief, -1_000_000n, 2),
        position(worthless, 10n ** 9n, 3),
        position(unseen, 10_000n, 4),
        position(washed, 1n, 5),
      ],
      ticks: Array.from({ length: 500 }, (_, index) =>
        tick({
          pool: washed,
          logIndex: 100 + index,
          amount0: -ETHER,
          amount1: ETHER,
          sqrtPriceX96: even.initialSqrtPriceX96,
          usdMicros: 10n ** 12n,
        }),
      ),
    })
    expect(await newest()).toEqual([native.id, held.id])
  })

  test('are the newest hundred of a network, in pages that have each once', async () => {
    const many = Array.from({ length: 110 }, (_, index) => v4((0x30 + index).toString(16)))
    await add(NOW - 1.5 * DAY, { pools: many, liquidity: many.map((pool, index) => position(pool, 60n, index)) })
    const { data, next_cursor } = await list('limit=60')
    const rest = await list(`limit=60&cursor=${next_cursor}`)
    const ids = [...data, ...rest.data].map(({ id }) => id)
    expect([data.length, rest.data.length, rest.next_cursor]).toEqual([60, 40, null])
    expect(new Set(ids).size).toBe(100)
    expect(many.map(({ id }) => id)).toEqual(expect.arrayContaining(ids))
  })

  test('take no token and no pairs', async () => {
    // As of any operation, parameters that it has not are ignored.
    expect(await newest(`token=${PEPE.address}&per=pair&limit=1`)).toHaveLength(1)
  })
})
