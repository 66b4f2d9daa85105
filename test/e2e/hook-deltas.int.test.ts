/** A hook of v4 may take from a swap or give to it. The log has what went through the pool, and so has the tick. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Address, concat, encodeAbiParameters, encodeFunctionData, formatUnits, type Hex, parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deploymentOf } from '../../infra/devnet/contracts/deploy.ts'
import type { DevMarket } from '../../infra/devnet/market/market.ts'
import { MarketPools, Ticks } from '../api/body.ts'
import { type Service, startService } from '../api/service.ts'
import { deployMarkets, type MinedBlock, startAnvil, type TestAnvil, type TestMarkets } from '../support/anvil.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { type ChainReader, openChainReader } from './on-chain.ts'

const ARTIFACT = '@uniswap/v4-core/out/DeltaReturningHook.sol/DeltaReturningHook.json'
/** The lowest bits say that it is called before and after swaps, and that it returns deltas both times. */
const HOOK: Address = '0xd0000000000000000000000000000000000000cc'
const hookAbi = parseAbi([
  'function setDeltaSpecified(int128 delta)',
  'function setDeltaUnspecifiedAfterSwap(int128 delta)',
])
const FEE = 777
const DOLLAR = 10n ** 6n

describe.skipIf(withoutClickHouse)('a swap in a pool whose hook returns deltas', () => {
  let anvil: TestAnvil
  let markets: TestMarkets
  let database: TestDatabase
  let pipeline: Pipeline
  let service: Service
  let chain: ChainReader
  let market: DevMarket
  let tip: MinedBlock

  beforeAll(async () => {
    ;[anvil, database] = await Promise.all([startAnvil(), freshDatabase()])
    await placeHook()
    const depth = [{ usd: 10_000_000 }]
    markets = await deployMarkets(anvil, [
      { protocol: 'v4', pair: ['USDC', 'WETH'], fee: FEE, tickSpacing: 60, depth, hooks: HOOK },
    ])
    market = markets.market(`v4 USDC/WETH ${FEE}`)
    const { network } = markets
    pipeline = await openPipeline({ network, url: anvil.wsUrl, database })
    service = await startService({
      client: database.client,
      networks: [network],
      clock: () => new Date((tip.timestamp + 1) * 1000),
    })
    chain = openChainReader(anvil.httpUrl, network)
  })

  afterAll(async () => {
    await service?.stop()
    await pipeline?.stop()
    await anvil?.stop()
    await database?.drop()
  })

  /** Its code knows the pool manager by the constructor's argument, and its rights by its address. */
  async function placeHook(): Promise<void> {
    const [deployer, other] = anvil.chain.accounts
    const { poolManager } = deploymentOf(deployer, [])
    const path = createRequire(import.meta.url).resolve(ARTIFACT)
    const { bytecode } = JSON.parse(readFileSync(path, 'utf8')) as { bytecode: { object: Hex } }
    const data = concat([bytecode.object, encodeAbiParameters([{ type: 'address' }], [poolManager])])
    const [code] = await anvil.rpc([{ method: 'eth_call', params: [{ from: other, data }, 'latest'] }])
    await anvil.rpc([{ method: 'anvil_setCode', params: [HOOK, code] }])
  }

  async function setDelta(functionName: (typeof hookAbi)[number]['name'], delta: bigint): Promise<void> {
    const [from] = anvil.chain.accounts
    await anvil.chain.send([
      { from, to: HOOK, data: encodeFunctionData({ abi: hookAbi, functionName, args: [delta] }) },
    ])
  }

  async function mine(): Promise<void> {
    ;[tip] = await anvil.mine()
    await pipeline.untilStored(tip)
  }

  /** Sells USDC. Returns what the trader gained, and the tick. */
  async function sell(amount: bigint) {
    await markets.swap(market, { zeroForOne: true, amount })
    await mine()
    const { router } = markets.deployment
    const gained = await Promise.all(
      [market.token0, market.token1].map(async (token) => {
        const [after, before] = await Promise.all([0, 1].map((ago) => chain.balanceOf(router, token, tip.number - ago)))
        return (after ?? 0n) - (before ?? 0n)
      }),
    )
    const { body } = await service.get(`/v0/ticks?pool=${market.id}&limit=1`)
    const [tick] = Ticks.parse(body).data
    if (!tick) throw new Error('The swap left no tick.')
    return { gained, tick }
  }

  test('has the amounts of the pool where the hook takes from the output', async () => {
    const honest = await sell(1_000n * DOLLAR)
    expect(honest.tick.amount1).toBe(formatUnits(honest.gained[1] ?? 0n, 18))
    const taken = 10n ** 17n
    await setDelta('setDeltaUnspecifiedAfterSwap', taken)
    const { gained, tick } = await sell(1_000n * DOLLAR)
    await setDelta('setDeltaUnspecifiedAfterSwap', 0n)
    expect(tick).toMatchObject({ side: 'sell', amount0: '-1000', amount1: formatUnits((gained[1] ?? 0n) + taken, 18) })
    expect(tick.price / honest.tick.price).toBeCloseTo(1, 3)
  })

  test('is told of by the pool and by the headers of its answers', async () => {
    const pools = await service.get(`/v0/pools?pool=${market.id}&include=market`)
    expect(MarketPools.parse(pools.body).data).toMatchObject([{ hooks: HOOK, hookDeltas: true }])
    for (const operation of ['ticks?', 'candles?interval=1m&']) {
      const { headers } = await service.get(`/v0/${operation}pool=${market.id}`)
      expect(headers.get('x-market-hook-deltas'), operation).toBe('true')
    }
    // The pair has another pool.
    const { headers } = await service.get('/v0/candles?symbol=USDC-WETH&interval=1m')
    expect(headers.get('x-market-pool')).not.toBe(market.id)
    expect(headers.get('x-market-hook-deltas')).toBeNull()
  })

  test('has only the part of the input that reached the pool', async () => {
    await setDelta('setDeltaSpecified', 400n * DOLLAR)
    const { gained, tick } = await sell(1_000n * DOLLAR)
    expect(gained[0]).toBe(-1_000n * DOLLAR)
    expect(tick).toMatchObject({ side: 'sell', amount0: '-600' })
    await setDelta('setDeltaSpecified', 0n)
  })

  test('has no amounts and the pool’s own price where the hook does the whole trade', async () => {
    const before = await sell(1_000n * DOLLAR)
    const { body } = await service.get(`/v0/ticks?pool=${market.id}&limit=1&price=spot`)
    const spot = Ticks.parse(body).data[0]?.price
    await setDelta('setDeltaSpecified', 1_000n * DOLLAR)
    const { gained, tick } = await sell(1_000n * DOLLAR)
    await setDelta('setDeltaSpecified', 0n)
    expect(gained[0]).toBe(-1_000n * DOLLAR)
    expect(tick).toMatchObject({ amount0: '0', amount1: '0', amountUSD: 0, price: spot })
    expect(tick.id).not.toBe(before.tick.id)
  })
})
