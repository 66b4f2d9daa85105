/** The amounts of /v0/depth are those of real swaps that end at the same price, in Uniswap's own contracts: to the last unit, but for the fee. */
import { createPublicClient, encodeFunctionData, http, parseAbi, parseUnits } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sqrtPriceAtTick, tickAtSqrtPrice } from '../../api/market/pools/tick-math.ts'
import { factoryAbi, v3PoolAbi } from '../../infra/devnet/contracts/contracts.ts'
import type { DevMarket } from '../../infra/devnet/market/market.ts'
import { marketsOf } from '../../infra/devnet/market/open-markets.ts'
import type { MarketPlan } from '../../infra/devnet/market/plan.ts'
import { type Service, startService } from '../api/service.ts'
import { deployMarkets, type MinedBlock, startAnvil, type TestAnvil, type TestMarkets } from '../support/anvil.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { type ChainReader, openChainReader } from './on-chain.ts'

const WIDE = [{ usd: 10_000_000 }, { usd: 5_000_000, width: 0.03 }]
/** v4 takes a fee of 0, so that incoming amounts are compared exactly. A spacing of 1 has several words of the bitmap within 5 %. */
const FREE_PLANS: readonly MarketPlan[] = [
  { protocol: 'v4', pair: ['USDC', 'WETH'], fee: 0, tickSpacing: 10, depth: WIDE },
  { protocol: 'v4', pair: ['ETH', 'USDC'], fee: 0, tickSpacing: 1, depth: WIDE },
]
/** v3's owner may enable it. */
const FREE_V3: MarketPlan = { protocol: 'v3', pair: ['USDC', 'WETH'], fee: 0, tickSpacing: 60, depth: [] }
const MILLION = 1_000_000n

const v3Abi = parseAbi([
  'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
])
const v4Abi = parseAbi([
  'event Swap(bytes32 indexed id, address indexed sender, int128 amount0, int128 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint24 fee)',
])

type Amounts = { base: string; quote: string; usd: number | null }
type Level = { percent: number; buy: Amounts; sell: Amounts }
type Body = { data: { price: number; block: number; time: string; isComplete: boolean; levels: Level[] } }

describe.skipIf(withoutClickHouse)('depth and real swaps', () => {
  let anvil: TestAnvil
  let markets: TestMarkets
  let freeV3: DevMarket
  let database: TestDatabase
  let pipeline: Pipeline
  let service: Service
  let chain: ChainReader
  let tip: MinedBlock

  beforeAll(async () => {
    ;[anvil, database] = await Promise.all([startAnvil(), freshDatabase()])
    markets = await deployMarkets(anvil, FREE_PLANS)
    const { network, deployment } = markets
    pipeline = await openPipeline({ network, url: anvil.wsUrl, database })
    const clock = () => new Date((tip.timestamp + 1) * 1000)
    service = await startService({ client: database.client, networks: [network], clock })
    chain = openChainReader(anvil.httpUrl, network)
    ;[freeV3] = marketsOf([FREE_V3], deployment) as [DevMarket]
    await openFreeV3()
    for (const market of own()) await provide(market)
    await mine()
  })

  afterAll(async () => {
    await service?.stop()
    await pipeline?.stop()
    await anvil?.stop()
    await database?.drop()
  })

  const named = (name: string) => markets.market(name)
  const own = () => [
    named('v3 USDC/WETH 500'),
    named('v3 DAI/USDC 100'),
    freeV3,
    named('v4 USDC/WETH 0'),
    named('v4 ETH/USDC 0'),
    named('v4 USDC/WETH 3000'),
  ]

  async function mine(): Promise<void> {
    tip = (await anvil.mine()).at(-1) as MinedBlock
    await pipeline.untilStored(tip)
  }

  async function openFreeV3(): Promise<void> {
    const { deployer, factory } = markets.deployment
    if (freeV3.place.kind !== 'v3') throw new Error('The pool is one of v3.')
    const { pool, token0, token1 } = freeV3.place.pool
    const { sqrtPriceX96 } = await chain.read(named('v3 USDC/WETH 500'))
    const { fee, tickSpacing } = FREE_V3
    const calls = [
      [factory, encodeFunctionData({ abi: factoryAbi, functionName: 'enableFeeAmount', args: [fee, tickSpacing] })],
      [factory, encodeFunctionData({ abi: factoryAbi, functionName: 'createPool', args: [token0, token1, fee] })],
      [pool, encodeFunctionData({ abi: v3PoolAbi, functionName: 'initialize', args: [sqrtPriceX96] })],
    ] as const
    for (const [to, data] of calls) await anvil.chain.send([{ from: deployer, to, data }])
    await mine()
  }

  /** Overlapping positions around the price, two that meet at a tick where they cancel out, and the widest one. */
  async function provide(market: DevMarket): Promise<void> {
    const { sqrtPriceX96 } = await chain.read(market)
    const { tickSpacing } = market
    const unit = Math.ceil(60 / tickSpacing) * tickSpacing
    const middle = Math.floor(tickAtSqrtPrice(sqrtPriceX96) / unit) * unit
    const scale = 10n ** BigInt(Math.round((market.token0.decimals + market.token1.decimals) / 2))
    const at = (lower: number, upper: number, liquidity: bigint) =>
      markets.mint(market, { tickLower: middle + lower * unit, tickUpper: middle + upper * unit, liquidity })
    await at(-10, 12, 7n * 10_000n * scale + 1n)
    await at(0, 1, 3n * 10_000n * scale + 7n)
    await at(-3, 2, 5n * 1_000n * scale + 3n)
    await at(1, 4, 9n * 10_000n * scale + 11n)
    await at(4, 6, 9n * 10_000n * scale + 11n)
    await at(-6, -2, 2n * 10_000n * scale + 13n)
    const last = Math.floor(887_272 / tickSpacing) * tickSpacing
    await markets.mint(market, { tickLower: -last, tickUpper: last, liquidity: 17n * scale })
  }

  async function depthOf(market: DevMarket, forward: boolean): Promise<Body['data']> {
    const { token0, token1 } = market
    const pair = forward ? `${token0.symbol}-${token1.symbol}` : `${token1.symbol}-${token0.symbol}`
    const { status, body } = await service.get(`/v0/depth?pool=${market.id}&symbol=${pair}`)
    expect(
      status,
      JSON.stringify([body, service.facts.map((fact) => ('error' in fact ? String(fact.error) : ''))]),
    ).toBe(200)
    const { data } = body as Body
    expect(data).toMatchObject({ block: tip.number, isComplete: true })
    expect(data.levels.map(({ percent }) => percent)).toEqual([0.1, 0.5, 1, 2, 5])
    return data
  }

  /** Amounts of a swap to the price, in raw units of token0 and token1, both positive. */
  async function swapTo(market: DevMarket, sqrtPriceLimitX96: bigint, zeroForOne: boolean): Promise<[bigint, bigint]> {
    const snapshot = await anvil.snapshot()
    await markets.swap(market, { zeroForOne, amount: 2n ** 100n, sqrtPriceLimitX96 })
    const [block] = await anvil.mine()
    const client = createPublicClient({ transport: http(anvil.httpUrl) })
    const range = { fromBlock: BigInt(block.number), toBlock: BigInt(block.number) }
    const logs = [
      ...(await client.getLogs({ events: v3Abi, ...range, strict: true })),
      ...(await client.getLogs({ events: v4Abi, ...range, strict: true })),
    ]
    expect(logs).toHaveLength(1)
    const { amount0 = 0n, amount1 = 0n, sqrtPriceX96 } = logs[0]?.args ?? {}
    expect(sqrtPriceX96).toBe(sqrtPriceLimitX96)
    await anvil.revert(snapshot)
    const size = (amount: bigint) => (amount < 0n ? -amount : amount)
    return [size(amount0), size(amount1)]
  }

  /** The integer root by bisection, so that it is not the product's. */
  function limitOf(sqrtPriceX96: bigint, numerator: bigint, denominator: bigint): bigint {
    let [low, high] = [0n, 2n * sqrtPriceX96]
    while (high - low > 1n) {
      const middle = (low + high) / 2n
      if (middle * middle * denominator <= sqrtPriceX96 * sqrtPriceX96 * numerator) low = middle
      else high = middle
    }
    return low
  }

  /** Compares all levels in both directions, and returns how many swaps that took and the largest error in raw units. */
  async function compare(
    market: DevMarket,
    depths: readonly { forward: boolean; data: Body['data'] }[],
  ): Promise<{ swaps: number; error: bigint }> {
    const { sqrtPriceX96, fee } = await chain.read(market)
    let swaps = 0
    let error = 0n
    for (const { forward, data } of depths) {
      for (const { percent, ...level } of data.levels) {
        for (const side of ['buy', 'sell'] as const) {
          const tenths = BigInt(Math.round(percent * 10)) * (side === 'buy' ? 1n : -1n)
          const [numerator, denominator] = forward ? [1_000n + tenths, 1_000n] : [1_000n, 1_000n + tenths]
          const limit = limitOf(sqrtPriceX96, numerator, denominator)
          const zeroForOne = forward === (side === 'sell')
          const [amount0, amount1] = await swapTo(market, limit, zeroForOne)
          const [token0, token1] = forward
            ? [level[side].base, level[side].quote]
            : [level[side].quote, level[side].base]
          const [own0, own1] = [parseUnits(token0, market.token0.decimals), parseUnits(token1, market.token1.decimals)]
          const [paid, received, ownIn, ownOut] = zeroForOne
            ? [amount0, amount1, own0, own1]
            : [amount1, amount0, own1, own0]
          // Of each step the fee is rounded up, and there are at most twenty steps.
          const exactFee = (ownIn * BigInt(fee) + MILLION - BigInt(fee) - 1n) / (MILLION - BigInt(fee))
          const inError = fee === 0 ? paid - ownIn : paid - ownIn - exactFee
          expect(inError, `${side} ${percent} ${forward}`).toBeGreaterThanOrEqual(0n)
          expect(inError).toBeLessThanOrEqual(fee === 0 ? 0n : 20n)
          expect(ownOut).toBe(received)
          expect(ownOut).toBeGreaterThan(0n)
          swaps++
          if (fee === 0 && inError > error) error = inError
        }
      }
    }
    return { swaps, error }
  }

  /** All answers first: the swaps of a comparison are reorgs for the pipeline. */
  async function compareAll(all: readonly DevMarket[]): Promise<void> {
    const asked = []
    for (const market of all) {
      const depths = []
      for (const forward of [true, false]) depths.push({ forward, data: await depthOf(market, forward) })
      asked.push({ market, depths })
    }
    for (const { market, depths } of asked) {
      const { swaps, error } = await compare(market, depths)
      expect({ swaps, error }).toEqual({ swaps: 20, error: 0n })
    }
    await anvil.mine(2)
    await mine()
  }

  test('before the first swap, from the initial price and the mints', async () => {
    await compareAll(own())
  })

  test('after swaps, from the last one and the mints and burns since', async () => {
    for (const market of own()) {
      const { sqrtPriceX96 } = await chain.read(market)
      const up = { zeroForOne: false, amount: 2n ** 100n, sqrtPriceLimitX96: limitOf(sqrtPriceX96, 1_013n, 1_000n) }
      await markets.swap(market, up)
      await mine()
      const down = { zeroForOne: true, amount: 2n ** 100n, sqrtPriceLimitX96: limitOf(sqrtPriceX96, 1_004n, 1_000n) }
      await markets.swap(market, down)
      await provide(market)
    }
    await mine()
    await compareAll(own())
  })

  test('after a swap that ended at the price of an initialized tick, on either side of it', async () => {
    const all = [freeV3, named('v4 USDC/WETH 0')]
    for (const [index, market] of all.entries()) {
      const { sqrtPriceX96 } = await chain.read(market)
      const tick = Math.floor(tickAtSqrtPrice(sqrtPriceX96) / 60) * 60 + (index === 0 ? -60 : 120)
      await markets.mint(market, { tickLower: tick, tickUpper: tick + 240, liquidity: 10n ** 16n })
      await markets.mint(market, { tickLower: tick - 240, tickUpper: tick, liquidity: 3n * 10n ** 16n })
      await markets.swap(market, {
        zeroForOne: index === 0,
        amount: 2n ** 100n,
        sqrtPriceLimitX96: sqrtPriceAtTick(tick),
      })
    }
    await mine()
    await compareAll(all)
  })
})
