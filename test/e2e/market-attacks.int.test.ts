/** Attacks on a listed pair, on real contracts: what an attacker's own pools say of WETH-USDC is not what a symbol is answered with. */
import { type Address, encodeDeployData, encodeFunctionData } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readBytecode } from '../../infra/devnet/contracts/compile.ts'
import { tokenAbi } from '../../infra/devnet/contracts/contracts.ts'
import type { DevMarket } from '../../infra/devnet/market/market.ts'
import { openMarkets } from '../../infra/devnet/market/open-markets.ts'
import { FIRST_PRICES, type MarketPlan } from '../../infra/devnet/market/plan.ts'
import { ticksAround } from '../../infra/devnet/market/sqrt-price.ts'
import { Candles, Pools, Ticks } from '../api/body.ts'
import { type Service, startService } from '../api/service.ts'
import { deployMarkets, type MinedBlock, startAnvil, type TestAnvil, type TestMarkets } from '../support/anvil.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'

const DOLLAR = 10n ** 6n
const ETHER = 10n ** 18n
const MILLION = 1_000_000n * DOLLAR
const HONEST = 'v3 USDC/WETH 500'
const HOUR = 3_600

describe.skipIf(withoutClickHouse)('the answer of a listed pair', () => {
  let anvil: TestAnvil
  let markets: TestMarkets
  let database: TestDatabase
  let pipeline: Pipeline
  let service: Service
  let tip: MinedBlock
  /** One for each pool, so that their ids differ. */
  let nextSpacing = 61

  beforeAll(async () => {
    ;[anvil, database] = await Promise.all([startAnvil(), freshDatabase()])
    markets = await deployMarkets(anvil)
    const { network } = markets
    pipeline = await openPipeline({ network, url: anvil.wsUrl, database })
    const clock = () => new Date((tip.timestamp + 1) * 1000)
    service = await startService({ client: database.client, networks: [network], clock })
    await mine()
    for (let swap = 0; swap < 3; swap++) await tradeHonestly()
    // The honest pools have held what they hold for some hours.
    tip = (await anvil.mine(1, [tip.timestamp + 6 * HOUR]))[0]
    await tradeHonestly()
  })

  afterAll(async () => {
    await service?.stop()
    await pipeline?.stop()
    await anvil?.stop()
    await database?.drop()
  })

  async function mine(): Promise<void> {
    tip = (await anvil.mine(2)).at(-1) as MinedBlock
    await pipeline.untilStored(tip)
  }

  /** Both ways, so that the price stays. */
  async function tradeHonestly(): Promise<void> {
    for (const name of [HONEST, 'v3 USDC/WETH 3000', 'v4 USDC/WETH 3000']) {
      await markets.swap(markets.market(name), { zeroForOne: true, amount: 5_000n * DOLLAR })
      await markets.swap(markets.market(name), { zeroForOne: false, amount: (15n * ETHER) / 10n })
    }
    await mine()
  }

  /** A v4 pool of the attacker. */
  async function open(
    plan: Partial<MarketPlan>,
    usdcPerEther = 3_200,
    tokens = markets.deployment.tokens,
  ): Promise<DevMarket> {
    const plans: MarketPlan[] = [
      { protocol: 'v4', pair: ['USDC', 'WETH'], fee: 0, tickSpacing: nextSpacing++, depth: [{ usd: 20_000 }], ...plan },
    ]
    const prices = { ...FIRST_PRICES, WETH: usdcPerEther, ETH: usdcPerEther, FAKE: 1 }
    const { timestamp } = await anvil.block('latest')
    // Without the factory: it takes each fee once.
    const deployment = { ...markets.deployment, tokens, factory: markets.deployment.deployer }
    const [market] = await openMarkets(anvil.chain, deployment, { plans, prices, timestamp: timestamp + 1 })
    if (!market) throw new Error('no pool was opened')
    await mine()
    return market
  }

  /** √ of raw WETH per raw USDC. */
  const limitAt = (usdcPerEther: number) => BigInt(Math.floor(Math.sqrt(1e12 / usdcPerEther) * 2 ** 96))

  const washed = (market: DevMarket, zeroForOne: boolean, amount: bigint, end?: number) =>
    markets.swap(market, { zeroForOne, amount, ...(end !== undefined && { sqrtPriceLimitX96: limitAt(end) }) })

  async function answers(
    range = 'interval=1m&limit=30',
  ): Promise<{ prices: number[]; pool: string | null; why: string | null }> {
    const { body, headers } = await service.get(`/v0/candles?symbol=WETH-USDC&${range}`)
    const prices = Candles.parse(body).data.flatMap(({ open, high, low, close }) => [open, high, low, close])
    return { prices, pool: headers.get('x-market-pool'), why: headers.get('x-market-lead') }
  }

  async function expectHonest(attacker: DevMarket, reason: string, range?: string): Promise<void> {
    const { prices, pool, why } = await answers(range)
    expect(prices.length).toBeGreaterThan(0)
    for (const price of prices) expect(Math.abs(price / 3_200 - 1)).toBeLessThan(0.01)
    expect(pool).not.toBe(attacker.id)
    expect(why).toBe(`${reason}; passed-over=${attacker.id}`)
    // The attacker's pool may be the most valuable one of the list, and does not lead it.
    const pools = await service.get('/v0/pools?symbol=WETH-USDC')
    expect(Pools.parse(pools.body).data.map(({ id }) => id)).toContain(attacker.id)
    expect(pools.headers.get('x-market-lead-pool')).toMatch(/^ethereum\/0x/)
    expect(pools.headers.get('x-market-lead-pool')).not.toContain(attacker.id)
    // The next attack starts where this one's volume is a day ago.
    tip = (await anvil.mine(1, [tip.timestamp + 25 * HOUR]))[0]
    await pipeline.untilStored(tip)
    await tradeHonestly()
  }

  test('does not follow six swaps of $302M in a pool without a fee that ends a hundred times too high', async () => {
    const pool = await open({})
    await tradeHonestly()
    for (const zeroForOne of [true, false, true, false, true, false])
      await washed(pool, zeroForOne, zeroForOne ? 302n * MILLION : 94_000n * ETHER, zeroForOne ? undefined : 320_000)
    await mine()
    await expectHonest(pool, 'deviating-price')
  })

  test('does not follow the only trade of a range of seconds', async () => {
    const pool = await open({})
    await tradeHonestly()
    await washed(pool, false, 10n ** 30n, 7)
    await mine()
    const { status, body } = await service.get(`/v0/ticks?pool=${pool.id}&limit=1`)
    expect([status, Ticks.parse(body).data.length]).toEqual([200, 1])
    const [{ timestamp = '' } = {}] = Ticks.parse(body).data
    const to = new Date(Date.parse(timestamp) + 1_000).toISOString()
    await expectHonest(pool, 'deviating-price', `interval=1s&limit=5&to=${to}`)
  })

  test('does not follow $1bn to and fro within one block that ends at a price of 7', async () => {
    const pool = await open({})
    await tradeHonestly()
    await washed(pool, true, 1_000n * MILLION)
    await washed(pool, false, 10n ** 30n, 7)
    await mine()
    await expectHonest(pool, 'deviating-price')
  })

  test('does not follow wash trades at the right price: they are worth no more than what the pool held', async () => {
    const pool = await open({ depth: [{ usd: 21_000 }] })
    await tradeHonestly()
    for (let swap = 0; swap < 60; swap++)
      await washed(pool, swap % 2 === 0, swap % 2 === 0 ? 50n * DOLLAR : ETHER / 64n)
    const before = await answers()
    // A large position that is there for one block only: the volume is real, the liquidity is not held.
    const flash = {
      ...ticksAround(1 / 3_200, 0.2, pool.tickSpacing, { decimals0: 6, decimals1: 18 }),
      liquidity: 10n ** 20n,
    }
    await markets.mint(pool, flash)
    await washed(pool, true, 5n * MILLION)
    await washed(pool, false, 10n ** 30n, 3_200)
    await markets.burn(pool, flash)
    await mine()
    expect(before.pool).not.toBe(pool.id)
    await expectHonest(pool, 'unheld-volume')
  })

  test('does not follow a pool whose value lies far from its price', async () => {
    const pool = await open({})
    // $50M of USDC below any price at which ether is sold.
    const deep = {
      ...ticksAround(1 / 1_000, 0.05, pool.tickSpacing, { decimals0: 6, decimals1: 18 }),
      liquidity: 10n ** 19n,
    }
    await markets.mint(pool, deep)
    await mine()
    tip = (await anvil.mine(1, [tip.timestamp + 6 * HOUR]))[0]
    await tradeHonestly()
    await washed(pool, true, 302n * MILLION)
    await washed(pool, false, 10n ** 30n, 3_200)
    await mine()
    await expectHonest(pool, 'deviating-price')
  })

  test('does not follow a pool with a hook that takes any fee it likes', async () => {
    const hooks: Address = '0xd000000000000000000000000000000000001080'
    const pool = await open({ fee: 0x800000, hooks, depth: [{ usd: 20_000 }] })
    await tradeHonestly()
    await markets.setDynamicFee(500_000)
    await washed(pool, true, 302n * MILLION)
    await markets.setDynamicFee(0)
    await washed(pool, false, 10n ** 30n, 3_200)
    await mine()
    await expectHonest(pool, 'deviating-price')
  })

  test('does not follow a pool that deviates where no pool of the pair is a reference: most held value decides', async () => {
    const pool = await open({ pair: ['DAI', 'WETH'], depth: [{ usd: 500_000 }] })
    await markets.swap(markets.market('v3 DAI/WETH 3000'), { zeroForOne: true, amount: 1_000n * ETHER })
    await mine()
    await markets.swap(pool, { zeroForOne: true, amount: 302_000_000n * ETHER })
    await mine()
    const { body, headers } = await service.get('/v0/candles?symbol=WETH-DAI&interval=1m&limit=30')
    for (const { high, low } of Candles.parse(body).data) {
      expect(Math.abs(high / 3_200 - 1)).toBeLessThan(0.01)
      expect(Math.abs(low / 3_200 - 1)).toBeLessThan(0.01)
    }
    expect(headers.get('x-market-lead')).toBe(`deviating-price; passed-over=${pool.id}`)
  })

  test('does not follow pools of a token that only calls itself USDC', async () => {
    const { chain } = anvil
    const [from] = chain.accounts
    const { router, tokens } = markets.deployment
    const data = encodeDeployData({
      abi: tokenAbi,
      bytecode: readBytecode().PlainToken,
      args: ['USD Coin', 'USDC', 6],
    })
    const [creation] = await chain.send([{ from, data }])
    await mine()
    const [receipt] = await anvil.rpc([{ method: 'eth_getTransactionReceipt', params: [creation] }])
    const address = (receipt as { contractAddress: Address }).contractAddress.toLowerCase() as Address
    const mint = encodeFunctionData({ abi: tokenAbi, functionName: 'mint', args: [router, 1n << 160n] })
    await chain.send([{ from, to: address, data: mint }])
    await mine()
    const weth = tokens.find(({ symbol }) => symbol === 'WETH')?.address ?? address
    const fake = { symbol: 'FAKE', name: 'USD Coin', decimals: 6, shape: 'plain', address } as const
    const pair: [string, string] = address < weth.toLowerCase() ? ['FAKE', 'WETH'] : ['WETH', 'FAKE']
    const pool = await open({ pair, depth: [{ usd: 100_000_000 }] }, 320_000, [...tokens, fake])
    await markets.swap(pool, { zeroForOne: true, amount: 10n ** 9n })
    await mine()
    const { prices, pool: lead } = await answers()
    for (const price of prices) expect(Math.abs(price / 3_200 - 1)).toBeLessThan(0.01)
    expect(lead).not.toBe(pool.id)
    const { body } = await service.get('/v0/pools?symbol=WETH-USDC')
    expect(Pools.parse(body).data.map(({ id }) => id)).not.toContain(pool.id)
  })

  test('is the same from a service that has just started', async () => {
    const clock = () => new Date((tip.timestamp + 1) * 1000)
    const cold = await startService({ client: database.client, networks: [markets.network], clock })
    for (let day = 0; day < 5; day++) {
      const to = new Date((tip.timestamp - day * 24 * HOUR) * 1000).toISOString()
      const path = `/v0/candles?symbol=WETH-USDC&interval=1h&limit=20&to=${to}`
      const [one, other] = await Promise.all([service.get(path), cold.get(path)])
      expect(Candles.parse(one.body).data).toEqual(Candles.parse(other.body).data)
      for (const name of ['x-market-pool', 'x-market-lead']) expect(one.headers.get(name)).toBe(other.headers.get(name))
    }
    await cold.stop()
  })
})
