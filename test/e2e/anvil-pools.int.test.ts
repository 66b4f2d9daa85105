/** Answers about pools and swaps equal those of Uniswap's contracts, after every kind of step and on every branch. */
import { formatUnits } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sqrtPriceAtTick } from '../../api/market/pools/tick-math.ts'
import type { DevMarket, LiquidityPosition, SwapOrder } from '../../infra/devnet/market/market.ts'
import { spotPrice } from '../../ingest/pricing/price.ts'
import { Pools, Ticks } from '../api/body.ts'
import { type Service, startService } from '../api/service.ts'
import { deployMarkets, type MinedBlock, startAnvil, type TestAnvil, type TestMarkets } from '../support/anvil.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { drawn } from '../support/sample.ts'
import { type ChainReader, openChainReader } from './on-chain.ts'

const REFERENCE = 'v3 USDC/WETH 500'
const DYNAMIC = 'v4 ETH/USDC 8388608'
const NAMES = [REFERENCE, 'v3 USDC/WETH 3000', 'v4 USDC/WETH 3000', 'v4 ETH/USDC 500', DYNAMIC]
const DRAWN = drawn('pools', NAMES, 2)
const ETHER = 10n ** 18n
const DOLLAR = 10n ** 6n

describe.skipIf(withoutClickHouse)('pools of real contracts', () => {
  let anvil: TestAnvil
  let markets: TestMarkets
  let database: TestDatabase
  let pipeline: Pipeline
  let service: Service
  let chain: ChainReader
  let tip: MinedBlock

  beforeAll(async () => {
    ;[anvil, database] = await Promise.all([startAnvil(), freshDatabase()])
    markets = await deployMarkets(anvil)
    const { network } = markets
    pipeline = await openPipeline({ network, url: anvil.wsUrl, database })
    const clock = () => new Date((tip.timestamp + 1) * 1000)
    service = await startService({ client: database.client, networks: [network], clock })
    chain = openChainReader(anvil.httpUrl, network)
  })

  afterAll(async () => {
    await service?.stop()
    await pipeline?.stop()
    await anvil?.stop()
    await database?.drop()
  })

  async function mine(blocks = 1): Promise<void> {
    tip = (await anvil.mine(blocks)).at(-1) as MinedBlock
    await pipeline.untilStored(tip)
  }

  /** USDC for one ether, as the reference pool has it now. */
  async function etherPrice(): Promise<number> {
    const { sqrtPriceX96 } = await chain.read(markets.market(REFERENCE))
    return 1 / spotPrice(sqrtPriceX96, { decimals0: 6, decimals1: 18 })
  }

  async function expectPoolsAsOnChain(): Promise<void> {
    // What a v3 pool holds after its block is told with the next one.
    await mine()
    const { status, body } = await service.get('/v0/pools?symbol=ETH-USDC')
    expect(status).toBe(200)
    const { data } = Pools.parse(body)
    const ether = await etherPrice()
    const own = NAMES.map((name) => markets.market(name))
    expect(data.map(({ id }) => id).sort()).toEqual(own.map(({ id }) => id).sort())
    for (const market of own) {
      const { sqrtPriceX96, liquidity, fee, transactions, held } = await chain.read(market)
      const pool = data.find(({ id }) => id === market.id)
      expect(pool).toMatchObject({
        protocolVersion: `dex-${market.place.kind}`,
        feeTier: String(fee),
        liquidity: String(liquidity),
        sqrtPrice: String(sqrtPriceX96),
        txCount: String(transactions),
      })
      const worth = [market.token0, market.token1].map(({ symbol, decimals }, index) => {
        return Number(formatUnits(held[index] ?? 0n, decimals)) * (symbol === 'USDC' ? 1 : ether)
      })
      const value = (worth[0] ?? 0) + (worth[1] ?? 0)
      expect(value).toBeGreaterThan(1_000_000)
      expect(Number(pool?.totalValueLockedUSD) / value).toBeCloseTo(1, 9)
    }
  }

  /** One swap in a block of its own: its tick says what the trader has gained and lost. */
  async function trade(market: DevMarket, swap: SwapOrder): Promise<void> {
    await markets.swap(market, swap)
    await mine()
    const { token0, token1 } = market
    const { router } = markets.deployment
    const [gain0 = 0n, gain1 = 0n] = await Promise.all(
      [token0, token1].map(async (token) => {
        const [after, before] = await Promise.all([0, 1].map((ago) => chain.balanceOf(router, token, tip.number - ago)))
        return (after ?? 0n) - (before ?? 0n)
      }),
    )
    const ask = async (price: string) => {
      const { body } = await service.get(`/v0/ticks?pool=${market.id}&limit=1&price=${price}`)
      return Ticks.parse(body).data[0]
    }
    const { sqrtPriceX96 } = await chain.read(market)
    const [tick, spot] = await Promise.all([ask('execution'), ask('spot')])
    expect(tick).toMatchObject({
      id: expect.stringContaining(tip.transactions.at(-1) ?? 'a swap') as string,
      timestamp: new Date(tip.timestamp * 1000).toISOString().replace('.000', ''),
      amount0: formatUnits(gain0, token0.decimals),
      amount1: formatUnits(gain1, token1.decimals),
      side: swap.zeroForOne ? 'sell' : 'buy',
      token0: token0.symbol,
      token1: token1.symbol,
    })
    const [size0, size1] = [gain0, gain1].map((gain) => (gain < 0n ? -gain : gain)) as [bigint, bigint]
    const [whole0, whole1] = [formatUnits(size0, token0.decimals), formatUnits(size1, token1.decimals)].map(Number)
    expect((tick?.price ?? 0) / ((whole1 ?? 0) / (whole0 ?? 0))).toBeCloseTo(1, 12)
    expect(spot?.price).toBe(spotPrice(sqrtPriceX96, { decimals0: token0.decimals, decimals1: token1.decimals }))
    const [dollars = 0, ethers = 0] = token0.symbol === 'USDC' ? [whole0, whole1] : [whole1, whole0]
    expect(tick?.amountUSD).toBeCloseTo((dollars + ethers * (await etherPrice())) / 2, 5)
  }

  /** So much of what `zeroForOne` sells as moves a price by some per cent, over narrow positions too. */
  function amountOf({ token0 }: DevMarket, zeroForOne: boolean): bigint {
    return (token0.symbol === 'USDC') === zeroForOne ? 150_000n * DOLLAR : 40n * ETHER
  }

  /** A narrow position that holds the price, and one on either side of it. */
  async function positionsAt(market: DevMarket): Promise<LiquidityPosition[]> {
    const { sqrtPriceX96 } = await chain.read(market)
    const tick = (Math.log(Number(sqrtPriceX96) / 2 ** 96) / Math.log(1.0001)) * 2
    const middle = Math.floor(tick / 60) * 60
    const liquidity = 10n ** 17n
    return [
      { tickLower: middle, tickUpper: middle + 60, liquidity },
      { tickLower: middle - 180, tickUpper: middle - 60, liquidity: 2n * liquidity },
      { tickLower: middle + 120, tickUpper: middle + 240, liquidity: 3n * liquidity },
    ]
  }

  test('a pool before its first swap has what was minted, and a dynamic fee of 0', async () => {
    await trade(markets.market(REFERENCE), { zeroForOne: true, amount: 1_000n * DOLLAR })
    await expectPoolsAsOnChain()
    expect(await chain.read(markets.market(DYNAMIC))).toMatchObject({ fee: 0, transactions: 1 })
  })

  test.each(DRAWN)(
    'pools are as on chain after swaps both ways, of exact input and of exact output: %s',
    async (name) => {
      const market = markets.market(name)
      await markets.setDynamicFee(4_321)
      await trade(market, { zeroForOne: true, amount: amountOf(market, true) })
      await trade(market, { zeroForOne: false, amount: amountOf(market, false) })
      await trade(market, { zeroForOne: true, amount: -amountOf(market, false) / 10n })
      await expectPoolsAsOnChain()
    },
  )

  test.each(DRAWN)(
    'pools are as on chain after mints around the price, a swap across them, and burns: %s',
    async (name) => {
      const market = markets.market(name)
      const positions = await positionsAt(market)
      for (const position of positions) await markets.mint(market, position)
      await mine()
      await expectPoolsAsOnChain()
      await trade(market, { zeroForOne: false, amount: amountOf(market, false) })
      // Part of one, all of another, in one block with a swap between them.
      const [first, second] = positions as [LiquidityPosition, LiquidityPosition]
      await markets.burn(market, { ...first, liquidity: first.liquidity / 3n })
      await markets.swap(market, { zeroForOne: true, amount: amountOf(market, true) * 2n })
      await markets.burn(market, second)
      await mine()
      await expectPoolsAsOnChain()
    },
  )

  test.each(DRAWN)(
    'pools are as on chain after a swap to the edge of a position and mints on both sides of it: %s',
    async (name) => {
      const market = markets.market(name)
      const [position] = (await positionsAt(market)) as [LiquidityPosition]
      const { tickLower, liquidity } = position
      await markets.mint(market, position)
      await mine()
      const sqrtPriceLimitX96 = sqrtPriceAtTick(tickLower)
      await trade(market, { zeroForOne: true, amount: 10n ** 24n, sqrtPriceLimitX96 })
      expect((await chain.read(market)).sqrtPriceX96).toBe(sqrtPriceLimitX96)
      await expectPoolsAsOnChain()
      await markets.mint(market, { tickLower: tickLower - 60, tickUpper: tickLower, liquidity: 2n * liquidity })
      await markets.mint(market, { tickLower, tickUpper: tickLower + 120, liquidity: 5n * liquidity })
      await mine()
      await expectPoolsAsOnChain()
    },
  )

  test('pools are as on chain on either branch of a reorg', async () => {
    const own = NAMES.map((name) => markets.market(name))
    const snapshot = await anvil.snapshot()
    await markets.setDynamicFee(9_000)
    for (const market of own) {
      const [position] = (await positionsAt(market)) as [LiquidityPosition]
      await markets.mint(market, position)
      await markets.swap(market, { zeroForOne: true, amount: amountOf(market, true) })
      await mine()
    }
    await expectPoolsAsOnChain()
    const orphans = own.length + 1

    await anvil.revert(snapshot)
    await markets.setDynamicFee(7)
    for (const market of own) await markets.swap(market, { zeroForOne: false, amount: amountOf(market, false) })
    await mine(orphans + 1)
    expect(pipeline.facts).toContainEqual(expect.objectContaining({ kind: 'rolled-back', depth: orphans }))
    await expectPoolsAsOnChain()
    for (const market of own) await trade(market, { zeroForOne: true, amount: amountOf(market, true) })
    await expectPoolsAsOnChain()
  })
})
