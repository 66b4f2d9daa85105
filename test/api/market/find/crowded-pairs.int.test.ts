import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { storeNames } from '../../../../aggregator/store/stored-tokens.ts'
import type { Pool, PoolId, Token } from '../../../../ingest/model/pool.ts'
import { intercepted } from '../../../aggregator/statements.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { HAS_EXTRAS, ofExtras } from '../../../support/extras.ts'
import { addressOf, balance, block, liquidity, openStore, poolOf, tick } from '../../../support/store.ts'
import { Pools } from '../../body.ts'
import { buyEther, minute, NETWORKS_SERVED, POOLS, storeScenario, TIP } from '../../scenario.ts'
import { type Service, startService } from '../../service.ts'

const DOLLAR = 10n ** 6n
const ETHER = 10n ** 18n
/** Pools of each kind: a hundred times what is compared one by one. */
const MANY = 6_400
const { main, small, v4, pepe } = POOLS
const [USDC, WETH] = [main.token0, main.token1]
const DUST_RANGE = [200_280, 200_340, 10n ** 9n] as const
const ROOT = main.initialSqrtPriceX96

let last = TIP + 60
let logs = 10_000

function poolsOf(kind: string, tokens: (number: number) => readonly [Token, Token], root = ROOT): readonly Pool[] {
  return Array.from({ length: MANY }, (_, number) => {
    // Spread over all ids.
    const id: PoolId = `0x${((number * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, '0')}${kind.repeat(28)}`
    return poolOf(id, ...tokens(number), { protocol: 'dex-v4', fee: number, initialSqrtPriceX96: root })
  })
}

const usdcWeth = (kind: string) => poolsOf(kind, () => [USDC, WETH])
const EMPTY = usdcWeth('e0')
/** Each has a little liquidity and a swap of one unit. */
const DUSTY = usdcWeth('d0')
/** Each holds nothing and traded $1bn with itself. */
const WASHED = usdcWeth('fa').slice(0, 100)
/** Tokens called PEPE, each with a pool that has a swap at an absurd price. */
const COPIES = poolsOf(
  'c0',
  (number) => [{ ...pepe.token0, address: addressOf(`01${number.toString(16).padStart(8, '0')}`) }, WETH],
  2n ** 150n,
)

function swapOf(pool: Pool, usdMicros = 0n) {
  logs += 1
  return tick({
    pool,
    logIndex: logs,
    amount0: 1n,
    amount1: -1n,
    sqrtPriceX96: pool.initialSqrtPriceX96,
    liquidity: 1n,
    usdMicros,
  })
}

describe.skipIf(withoutClickHouse)('a pair with thousands of pools that hold nothing', () => {
  let database: TestDatabase
  let write: ReturnType<typeof openStore>
  const services: Service[] = []

  beforeAll(async () => {
    database = await freshDatabase()
    await storeScenario(database.client)
    write = openStore(database.client, 'ethereum')
    await write([
      block(130, minute(121), { pools: [...EMPTY, ...DUSTY, ...WASHED, ...COPIES] }),
      block(131, minute(122), {
        liquidity: [...DUSTY, ...WASHED].map((pool) => liquidity(pool, logs++, ...DUST_RANGE)),
      }),
      block(132, last, {
        ticks: [
          ...[...DUSTY, ...COPIES].map((pool) => swapOf(pool)),
          ...WASHED.map((pool) => swapOf(pool, 10n ** 15n)),
          buyEther(main, ETHER, 2_000n),
          buyEther(pepe, ETHER, 2_000n),
        ],
        liquidity: WASHED.map((pool) => liquidity(pool, logs++, DUST_RANGE[0], DUST_RANGE[1], -DUST_RANGE[2])),
      }),
    ])
  })
  afterEach(async () => {
    for (const service of services.splice(0)) await service.stop()
  })
  afterAll(() => database?.drop())

  async function open(client = database.client, freshMs = 1_000): Promise<Service> {
    const options = { networks: NETWORKS_SERVED, clock: () => new Date((last + 10) * 1000) }
    const service = await startService({ client, accounts: database.client, freshMs, ...options })
    services.push(service)
    return service
  }

  const RANGE = `interval=1h&limit=5`
  const leadOf = async (service: Service, path: string) => {
    const { status, headers, body } = await service.get(path)
    expect(status, JSON.stringify(body)).toBe(200)
    return headers.get('x-market-pool')
  }

  test('is answered from the pool that holds and trades, in either direction and in the past', async () => {
    const service = await open()
    for (const symbol of ['WETH-USDC', 'usdc-weth', 'ETH-USDC']) {
      expect(await leadOf(service, `/v0/candles?symbol=${symbol}&${RANGE}`)).toBe(main.id)
      expect(await leadOf(service, `/v0/ticks?symbol=${symbol}`)).toBe(main.id)
    }
    const past = `/v0/candles?symbol=WETH-USDC&interval=1m&limit=5&to=${new Date(minute(14) * 1000).toISOString()}`
    expect(await leadOf(service, past)).toBe(main.id)
    expect(await leadOf(service, `/v0/candles?symbol=PEPE-WETH&${RANGE}`)).toBe(pepe.id)
  })

  test('lists the 100 most valuable pools, sorted by the value shown, and how many more there are', async () => {
    for (const service of [await open(), await open(database.client, 0)]) {
      const { body, headers } = await service.get('/v0/pools?symbol=ETH-USDC')
      const { data } = Pools.parse(body)
      expect(data).toHaveLength(100)
      const values = data.map(({ totalValueLockedUSD }) => Number(totalValueLockedUSD))
      expect(values).toEqual(values.toSorted((one, other) => other - one))
      const ids = data.map(({ id }) => id)
      // With those of Arbitrum; `v4` is of native ether.
      for (const { id } of [main, POOLS.side, small, v4]) expect(ids).toContain(id)
      expect(ids[0]).toBe(main.id)
      expect(headers.get('x-market-more-pools')).toBe(String(2 * MANY + WASHED.length + 5 - 100))
    }
    const service = await open()
    const copies = await service.get('/v0/pools?symbol=PEPE-WETH')
    expect(Pools.parse(copies.body).data.map(({ id }) => id)).toEqual([pepe.id])
    expect(copies.headers.get('x-market-more-pools')).toBeNull()
    expect((await service.get(`/v0/pools?pool=${main.id}`)).headers.get('x-market-more-pools')).toBeNull()
  })

  test('takes a number of statements, and of pools in them, that the number of pools does not change', async () => {
    const { client, asked } = counted(database.client)
    const service = await open(client)
    const paths = [
      `/v0/candles?symbol=WETH-USDC&${RANGE}`,
      '/v0/ticks?symbol=WETH-USDC',
      '/v0/pools?symbol=WETH-USDC',
      `/v0/candles?symbol=PEPE-WETH&${RANGE}`,
      '/v0/pools?symbol=PEPE-WETH',
      `/v0/candles?symbol=PEPE-WETH&pool=${pepe.id}&${RANGE}`,
      ...ofExtras(
        '/v0/pools/top',
        '/v0/pools/new',
        `/v0/pools/top?token=${WETH.address}`,
        `/v0/pools/top?token=${pepe.token0.address}`,
        '/v0/udf/search?query=eth',
        '/v0/udf/symbols?symbol=WETH-USDC',
      ),
    ]
    for (const path of paths) {
      expect((await service.get(path)).status, path).toBe(200)
      const pools = asked.splice(0)
      expect(pools.length, path).toBeLessThan(80)
      expect(Math.max(0, ...pools), path).toBeLessThanOrEqual(300)
    }
    // What was read is held, once the pools were written a while ago.
    const askedAgain = async () => {
      for (const path of paths) await service.get(path)
      return asked.splice(0).filter((pools) => pools > 20)
    }
    await expect.poll(askedAgain, { interval: 500 }).toEqual([])
  })

  test('takes few statements also where each of many splits of a symbol names many tokens', async () => {
    const SPLITS = 40
    const TOKENS = 30
    const named = (number: number, symbol: string): Token => ({
      ...pepe.token0,
      address: addressOf(`02${number.toString(16).padStart(8, '0')}`),
      symbol,
    })
    const pools = Array.from({ length: SPLITS * TOKENS }, (_, number) => {
      const symbol = Array(1 + (number % SPLITS))
        .fill('AB')
        .join('-')
      return poolOf(addressOf(`03${number.toString(16).padStart(8, '0')}`), named(number, symbol), WETH)
    })
    await write([block(150, ++last, { pools })])
    let lookups = 0
    const service = await open(
      intercepted(database.client, (send, _statement, [request]) => {
        // Polls for changes come by the clock.
        if (/pools_by_token|tokens_by_symbol|FROM pools/.test((request as { query: string }).query)) lookups += 1
        return send()
      }),
    )
    const symbol = Array(SPLITS).fill('AB').join('-')
    await service.get('/v0/health')
    lookups = 0
    expect((await service.get(`/v0/pools?symbol=${symbol}`)).status).toBe(200)
    expect((await service.get(`/v0/candles?symbol=${symbol}&interval=1h`)).status).toBe(404)
    expect(lookups).toBeLessThan(60)
  })

  test('is ordered before its first query, where its tokens are listed', async () => {
    let orders = 0
    const service = await open(limitedTo(database.client, () => ++orders === 0))
    await service.warm()
    const read = orders
    expect(read).toBeGreaterThan(0)
    for (const symbol of ['WETH-USDC', 'ETH-USDC', 'usdc-eth'])
      expect(await leadOf(service, `/v0/candles?symbol=${symbol}&${RANGE}`)).toBe(main.id)
    expect((await service.get('/v0/pools?symbol=WETH-USDC')).status).toBe(200)
    if (HAS_EXTRAS) expect((await service.get('/v0/pools/top')).status).toBe(200)
    expect(orders).toBe(read)
  })

  test('is answered from its v3 pools where a limit of the store refuses the statement over all pools', async () => {
    const service = await open(limitedTo(database.client, () => true))
    expect(await leadOf(service, `/v0/candles?symbol=WETH-USDC&${RANGE}`)).toBe(main.id)
    const { body } = await service.get('/v0/pools?symbol=WETH-USDC')
    expect(Pools.parse(body).data[0]?.id).toBe(main.id)
  })

  test('shows a pool that gets its value after the first ones were read', async () => {
    const service = await open()
    const first = async () => Pools.parse((await service.get('/v0/pools?symbol=WETH-USDC')).body).data[0]?.id
    expect(await first()).toBe(main.id)
    const rich = EMPTY[MANY / 2] as Pool
    last += 12
    await write([
      block(140, last, {
        liquidity: [liquidity(rich, logs++, 200_300, 200_320, 10n ** 21n)],
        balances: [balance(main, 1_000_000n * DOLLAR, 500n * ETHER)],
      }),
    ])
    await expect.poll(first).toBe(rich.id)
  })

  test('has the pool of a token that was renamed to the symbol of the crowd, and not that of one renamed from it', async () => {
    const toad = poolOf(addressOf('9b'), { ...pepe.token0, address: addressOf('0b'), symbol: 'TOAD' }, WETH)
    last += 12
    await write([
      block(141, last, {
        pools: [toad],
        ticks: [buyEther(toad, ETHER, 2_000n)],
        balances: [balance(toad, 10n ** 30n, 20n * ETHER)],
      }),
    ])
    const name = (pool: Pool, symbol: string, former: string) =>
      storeNames([database.client], 'ethereum', [
        { address: pool.token0.address, symbol, name: symbol, former: [former], block: 141 },
      ])
    const lead = async (symbol: string) => leadOf(await open(), `/v0/candles?symbol=${symbol}-WETH&${RANGE}`)
    await name(pepe, 'FROG', 'PEPE')
    // The copies hold too little to be trusted.
    expect(await lead('PEPE')).toBe(pepe.id)
    await name(toad, 'PEPE', 'TOAD')
    expect([await lead('PEPE'), await lead('FROG'), await lead('TOAD')]).toEqual([toad.id, pepe.id, toad.id])
  })
})

/** Refuses the statement over all pools of a crowded pair, as a limit of the store does. */
function limitedTo(client: ClickHouseClient, isRefused: () => boolean): ClickHouseClient {
  return intercepted(client, (send, _statement, [request]) => {
    const { query_params: { only_v3 } = {} } = request as { query_params?: Record<string, unknown> }
    if (only_v3 === false && isRefused()) throw new Error('Memory limit exceeded.')
    return send()
  })
}

/** `asked`: the number of pools that each statement names. */
function counted(client: ClickHouseClient): { client: ClickHouseClient; asked: number[] } {
  const asked: number[] = []
  const count = (request: unknown) => {
    const { query_params: parameters = {} } = request as { query_params?: Record<string, unknown> }
    const lists = Object.values(parameters).filter((value) => Array.isArray(value))
    asked.push(Math.max(0, ...lists.map((list) => list.length)))
  }
  const reading = intercepted(client, (send, _statement, [request]) => {
    count(request)
    return send()
  })
  return { client: reading, asked }
}
