import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { acquireEpoch } from '../../../../aggregator/candles/writer-epoch.ts'
import { rollBack } from '../../../../aggregator/ledger/rollback.ts'
import { tombstoneVersion } from '../../../../aggregator/store/version.ts'
import { intercepted } from '../../../aggregator/statements.ts'
import { withoutClickHouse } from '../../../support/clickhouse.ts'
import { block, liquidity, openStore, poolOf } from '../../../support/store.ts'
import { MarketPools } from '../../body.ts'
import { ARBITRUM_POOLS, minute, NETWORKS_SERVED, POOLS, START, TIP } from '../../scenario.ts'
import { scenarioServices } from '../../scenario-services.ts'
import { type Service, startService } from '../../service.ts'

describe.skipIf(withoutClickHouse)('GET /v0/pools', () => {
  const scenario = scenarioServices()
  let service: Service
  beforeAll(async () => {
    service = await scenario.start()
  })

  async function ask(symbol: string) {
    const { status, body } = await service.get(`/v0/pools?symbol=${encodeURIComponent(symbol)}&include=market`)
    expect(status, JSON.stringify(body)).toBe(200)
    return MarketPools.parse(body)
  }

  test('pools of all networks, most valuable first, tokens in on-chain order', async () => {
    const { data, credits_used } = await ask('WETH-USDC')
    expect(data.map(({ id }) => id)).toEqual([POOLS.main.id, POOLS.side.id, POOLS.small.id, ARBITRUM_POOLS.main.id])
    expect(data[0]).toEqual({
      id: POOLS.main.id,
      network: 'ethereum',
      protocolVersion: 'dex-v3',
      feeTier: '500',
      liquidity: '777',
      sqrtPrice: String(POOLS.main.initialSqrtPriceX96),
      volumeUSD: '12150',
      txCount: '6',
      totalValueLockedUSD: '2000000',
      token0: { symbol: 'USDC', name: 'USD Coin', address: POOLS.main.token0.address, decimals: 6 },
      token1: { symbol: 'WETH', name: 'Wrapped Ether', address: POOLS.main.token1.address, decimals: 18 },
      price: 1 / 2000,
      change24h: null,
      volumeUSD24h: '12150',
      firstSeen: '2024-01-05T00:00:00Z',
      hooks: null,
      hookDeltas: false,
      venue: 'uniswap',
    })
    expect(credits_used).toBe(1)
  })

  test('the figures of the day are read only for a query that includes them', async () => {
    let reads = 0
    const client = intercepted(scenario.database.client, (send, _statement, [request]) => {
      if ((request as { query: string }).query.includes('FROM candles')) reads += 1
      return send()
    })
    const clock = () => new Date((TIP + 10) * 1000)
    const readsOf = async (path: string) => {
      const counted = await startService({
        client,
        accounts: scenario.database.client,
        networks: NETWORKS_SERVED,
        clock,
      })
      onTestFinished(() => counted.stop())
      reads = 0
      expect((await counted.get(path)).status).toBe(200)
      return reads
    }
    const path = `/v0/pools?pool=${POOLS.main.id}`
    expect(await readsOf(path)).toBeLessThan(await readsOf(`${path}&include=market`))
  })

  test('one pool by its id, on each network that has it', async () => {
    const [listed] = (await ask('WETH-USDC')).data
    const { status, body } = await service.get(
      `/v0/pools?pool=${POOLS.main.id.toUpperCase().replace('0X', '0x')}&include=market`,
    )
    expect([status, body]).toEqual([200, { data: [listed], credits_used: 1 }])
    const twins = MarketPools.parse((await service.get(`/v0/pools?pool=${POOLS.silent.id}&include=market`)).body).data
    expect(twins.map(({ network }) => network).sort()).toEqual(['arbitrum', 'ethereum'])
    expect(twins.map(({ price, change24h, volumeUSD24h }) => [price, change24h, volumeUSD24h])).toEqual([
      [null, null, '0'],
      [null, null, '0'],
    ])
    const unknown = await service.get(`/v0/pools?pool=0x${'12'.repeat(20)}`)
    expect(unknown.body).toMatchObject({ status: 404, code: 'unknown_pool' })
  })

  test('price and volume of the last day move with the clock', async () => {
    const clock = () => new Date((minute(119) + 86_400 + 30) * 1000)
    const later = await startService({ client: scenario.database.client, networks: NETWORKS_SERVED, clock })
    const { data } = MarketPools.parse((await later.get(`/v0/pools?pool=${POOLS.main.id}&include=market`)).body)
    await later.stop()
    // The trade of minute 119 is both the newest and the one of a day ago.
    expect(data[0]).toMatchObject({ price: 1 / 2000, change24h: 0, volumeUSD24h: '0' })
  })

  test('ETH finds native pools too, with the fee of the last swap and the liquidity minted since', async () => {
    const v4 = (await ask('USDC-ETH')).data.find(({ id }) => id === POOLS.v4.id)
    expect(v4).toMatchObject({ protocolVersion: 'dex-v4', feeTier: '2345', txCount: '4' })
    // The swap's 777, and the mint in range after it; the one before it is in the 777 already.
    expect(v4?.liquidity).toBe(String(777n + 10n ** 17n))
    expect(v4?.token0.symbol).toBe('ETH')
  })

  test('a v4 pool is worth what its liquidity comes to at the price now', async () => {
    const v4 = (await ask('USDC-ETH')).data.find(({ id }) => id === POOLS.v4.id)
    // 1e17 within [-200400, -200300) and 1e16 over all, at √price 2000 USDC per ether, in floating point.
    const root = Math.sqrt(2e9 / 1e18)
    const held = (liquidity: number, lower: number, upper: number) => {
      const [low, high] = [1.0001 ** (lower / 2), 1.0001 ** (upper / 2)]
      const at = Math.min(Math.max(root, low), high)
      return (liquidity * (1 / at - 1 / high) * 2000) / 1e18 + (liquidity * (at - low)) / 1e6
    }
    const value = held(1e17, -200_400, -200_300) + held(1e16, -887_220, 887_220) + held(5, -200_100, -200_000)
    expect(Number(v4?.totalValueLockedUSD)).toBeCloseTo(value, 3)
  })

  test('a pool without a swap has its initial price, the liquidity minted around it, and fee 0 where the fee is dynamic', async () => {
    const { data } = await ask('ETH-DAI')
    const pool = data.find(({ id }) => id === POOLS.unswapped.id)
    expect(pool).toMatchObject({
      feeTier: '0',
      liquidity: String(10n ** 21n),
      sqrtPrice: String(POOLS.unswapped.initialSqrtPriceX96),
      volumeUSD: '0',
      txCount: '1',
    })
    expect(Number(pool?.totalValueLockedUSD)).toBeGreaterThan(0)
  })

  test('a pool with one priced token is worth that side, one that nothing prices is worth 0', async () => {
    expect((await ask('PEPE-WETH')).data).toEqual([expect.objectContaining({ totalValueLockedUSD: '12000' })])
    expect((await ask('WBTC-WETH')).data).toEqual([expect.objectContaining({ totalValueLockedUSD: '20000' })])
  })

  test('no match is 200 and empty', async () => {
    for (const symbol of ['NOPE-WETH', 'WBTC-USDC', 'DÜST-WETH'])
      expect(await ask(symbol)).toEqual({ data: [], credits_used: 1 })
  })

  test('a pair may have thousands of pools: the 100 most valuable are shown', async () => {
    const pools = Array.from({ length: 2_500 }, (_, index) => {
      const id = `0x${(index + 1).toString(16).padStart(64, '0')}` as const
      return poolOf(id, POOLS.unswapped.token1, POOLS.main.token0, {
        protocol: 'dex-v4',
        initialSqrtPriceX96: 2n ** 96n,
      })
    })
    const added = pools.map((pool, index) => liquidity(pool, 2_000 + index, -10, 10, BigInt(index + 1) * 10n ** 12n))
    await openStore(scenario.database.client, 'ethereum')([block(99, START - 12, { pools, liquidity: added })])
    const { data, credits_used } = await ask('DAI-USDC')
    expect(data.map(({ id }) => id)).toEqual(
      pools
        .slice(-100)
        .map(({ id }) => id)
        .reverse(),
    )
    expect(credits_used).toBe(6)
    const { headers } = await service.get('/v0/candles?symbol=USDC-DAI&interval=1h')
    expect(headers.get('x-market-pool')).toBe(pools.at(-1)?.id)
  })

  test('balances of a block that left the ledger do not count', async () => {
    const ahead = { pool: POOLS.main.id, balance0: 1n, balance1: 1n }
    await openStore(scenario.database.client, 'ethereum')([block(121, minute(121), { balances: [ahead] })])
    expect((await ask('WETH-USDC')).data.find(({ id }) => id === POOLS.main.id)?.totalValueLockedUSD).toBe('0.000001')
    await rollBack(scenario.database.client, {
      network: 'ethereum',
      to: { number: 120, timestamp: minute(120) },
      version: tombstoneVersion({ generation: 1, offset: 1_000 }),
      recomputeContext: { versions: await acquireEpoch(scenario.database.client, 'ethereum'), horizon: () => 0 },
    })
    expect((await ask('WETH-USDC')).data[0]?.totalValueLockedUSD).toBe('2000000')
  })
})
