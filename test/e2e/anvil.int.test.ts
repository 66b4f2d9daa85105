/** Real Uniswap contracts on a real node: what they say of their swaps is what the tables say. */
import { createPublicClient, http, parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { spotPrice } from '../../ingest/pricing/price.ts'
import { deployMarkets, startAnvil, type TestAnvil, type TestMarkets } from '../support/anvil.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { MARKET_TABLES, rowsOf } from '../support/rows.ts'

const slot0Abi = parseAbi([
  'function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16, uint16, uint16, uint8, bool)',
  'function liquidity() view returns (uint128)',
])
const stateViewAbi = parseAbi([
  'function getSlot0(bytes32) view returns (uint160 sqrtPriceX96, int24 tick, uint24 protocolFee, uint24 lpFee)',
  'function getLiquidity(bytes32) view returns (uint128)',
])

type TickRow = Record<
  | 'pool'
  | 'amount0'
  | 'amount1'
  | 'sqrt_price'
  | 'liquidity'
  | 'pool_tick'
  | 'price'
  | 'spot_price'
  | 'amount_usd'
  | 'fee'
  | 'sender',
  string
>

describe.skipIf(withoutClickHouse)('swaps of real contracts', () => {
  let anvil: TestAnvil
  let markets: TestMarkets
  let database: TestDatabase
  let pipeline: Pipeline

  beforeAll(async () => {
    ;[anvil, database] = await Promise.all([startAnvil(), freshDatabase()])
    markets = await deployMarkets(anvil)
    pipeline = await openPipeline({ network: markets.network, url: anvil.wsUrl, database })
  })

  afterAll(async () => {
    await pipeline?.stop()
    await anvil?.stop()
    await database?.drop()
  })

  async function ticksOf(pool: string): Promise<TickRow[]> {
    const answer = await database.client.query({
      query:
        'SELECT * REPLACE (lower(hex(sender)) AS sender), price, spot_price FROM ticks FINAL WHERE pool = {pool:String} ORDER BY block, log_index',
      query_params: { pool },
      format: 'JSONStringsEachRow',
    })
    return answer.json<TickRow>()
  }

  async function count(table: string, where = '1'): Promise<number> {
    const answer = await database.client.query({
      query: `SELECT count() AS n FROM ${table} FINAL WHERE ${where}`,
      format: 'JSONEachRow',
    })
    return Number((await answer.json<{ n: string }>())[0]?.n)
  }

  const chain = () => createPublicClient({ transport: http(anvil.httpUrl) })

  test('a v3 swap has the price, liquidity and tick that the pool has after it, in the view of the taker', async () => {
    const market = markets.market('v3 USDC/WETH 500')
    await markets.swap(market, { zeroForOne: true, amount: 25_000_000_000n })
    const [block] = await anvil.mine()
    await pipeline.untilStored(block)
    const [tick] = (await ticksOf(market.id)).slice(-1)
    const address = market.id
    const [sqrtPriceX96, poolTick] = await chain().readContract({ address, abi: slot0Abi, functionName: 'slot0' })
    const liquidity = await chain().readContract({ address, abi: slot0Abi, functionName: 'liquidity' })
    const { decimals: decimals0 } = market.token0
    const { decimals: decimals1 } = market.token1
    expect(tick).toMatchObject({
      // The taker paid 25,000 USDC.
      amount0: '-25000000000',
      sqrt_price: sqrtPriceX96.toString(),
      pool_tick: String(poolTick),
      liquidity: liquidity.toString(),
      sender: markets.deployment.router.slice(2).toLowerCase(),
      fee: '500',
    })
    expect(Number(tick?.spot_price)).toBe(spotPrice(sqrtPriceX96, { decimals0, decimals1 }))
    const paid = 25_000 / (Number(tick?.amount1) / 1e18)
    expect(1 / Number(tick?.price)).toBeCloseTo(paid, 8)
    // Both legs are trusted: the mean of 25,000 and of the WETH at the price after the swap.
    expect(Number(tick?.amount_usd)).toBeGreaterThan(24_900)
    expect(Number(tick?.amount_usd)).toBeLessThan(25_100)
  })

  test('a v4 swap of native currency keeps the sign that the swapper sees', async () => {
    const market = markets.market('v4 ETH/USDC 500')
    await markets.swap(market, { zeroForOne: true, amount: 10n ** 18n })
    const [block] = await anvil.mine()
    await pipeline.untilStored(block)
    const [tick] = (await ticksOf(market.id)).slice(-1)
    const { stateView } = markets.network.v4
    const [sqrtPriceX96, poolTick] = await chain().readContract({
      address: stateView,
      abi: stateViewAbi,
      functionName: 'getSlot0',
      args: [market.id],
    })
    expect(tick).toMatchObject({
      amount0: '-1000000000000000000',
      sqrt_price: sqrtPriceX96.toString(),
      pool_tick: String(poolTick),
      sender: markets.deployment.router.slice(2).toLowerCase(),
    })
    expect(Number(tick?.amount1)).toBeGreaterThan(3_000_000_000)
    // ETH is worth what WETH is in the reference pool.
    expect(Number(tick?.amount_usd)).toBeGreaterThan(3_000)
  })

  test('a pool with a dynamic fee says of each swap what it paid', async () => {
    const market = markets.market('v4 ETH/USDC 8388608')
    for (const fee of [1_000, 7_500]) {
      await markets.setDynamicFee(fee)
      await markets.swap(market, { zeroForOne: false, amount: 1_000_000_000n })
    }
    const [block] = await anvil.mine()
    await pipeline.untilStored(block)
    expect((await ticksOf(market.id)).map((tick) => tick.fee)).toEqual(['1000', '7500'])
    expect(await count('pools', `pool = '${market.id}' AND fee = 8388608`)).toBeGreaterThan(0)
  })

  test('a token whose symbol is bytes32 has its name; a pool of a token without decimals is skipped and counted', async () => {
    expect(await count('pools', "token0_symbol = 'MKR' OR token1_symbol = 'MKR'")).toBeGreaterThan(0)
    const nodec = markets.markets.find((it) => it.token0.symbol === 'NODEC' || it.token1.symbol === 'NODEC')
    expect(await count('pools', `pool = '${nodec?.id}'`)).toBe(0)
    expect(pipeline.facts).toContainEqual({
      kind: 'pool-skipped',
      network: 'ethereum',
      pool: nodec?.id,
      reason: 'no-decimals',
    })
  })

  test('a pool of another factory with the same code is dropped', async () => {
    await markets.swap(markets.foreignMarket, { zeroForOne: true, amount: 1_000_000_000n })
    const [block] = await anvil.mine()
    await pipeline.untilStored(block)
    expect(await ticksOf(markets.foreignMarket.id)).toEqual([])
    expect(pipeline.facts).toContainEqual({
      kind: 'pool-skipped',
      network: 'ethereum',
      pool: markets.foreignMarket.id,
      reason: 'other-factory',
    })
  })

  test('mints and burns are liquidity changes', async () => {
    const market = markets.market('v3 USDC/WETH 3000')
    const position = { tickLower: -60_000, tickUpper: 240_000, liquidity: 10n ** 15n }
    const before = await count('liquidity_changes', `pool = '${market.id}'`)
    await markets.mint(market, position)
    await anvil.mine()
    await markets.burn(market, position)
    const [block] = await anvil.mine()
    await pipeline.untilStored(block)
    expect(await count('liquidity_changes', `pool = '${market.id}' AND tick_lower = -60000`)).toBe(2)
    expect(await count('liquidity_changes', `pool = '${market.id}'`)).toBe(before + 2)
  })

  test('the tables after a reorg are those of a listener that saw only the final branch', async () => {
    const market = markets.market('v3 USDC/WETH 500')
    const snapshot = await anvil.snapshot()
    await markets.swap(market, { zeroForOne: true, amount: 90_000_000_000n })
    await anvil.mine()
    await markets.swap(market, { zeroForOne: false, amount: 10n ** 18n })
    const [, , orphan] = await anvil.mine(3)
    await pipeline.untilStored(orphan ?? { number: 0, hash: '0x' })

    await anvil.revert(snapshot)
    await markets.swap(market, { zeroForOne: false, amount: 5n * 10n ** 18n })
    const [, tip] = await anvil.mine(2)
    await pipeline.untilStored(tip ?? { number: 0, hash: '0x' })
    expect(pipeline.facts).toContainEqual(expect.objectContaining({ kind: 'rolled-back', depth: 4 }))

    const clean = await freshDatabase()
    const second = await openPipeline({ network: markets.network, url: anvil.httpUrl, database: clean })
    await second.untilStored(tip ?? { number: 0, hash: '0x' })
    await second.stop()
    for (const table of MARKET_TABLES) {
      expect({ table, rows: await rowsOf(database.client, table) }).toEqual({
        table,
        rows: await rowsOf(clean.client, table),
      })
    }
    await clean.drop()
  })

  test('a restarted listener resumes without loss or duplicates, also when the chain changed meanwhile', async () => {
    const market = markets.market('v3 DAI/WETH 3000')
    const snapshot = await anvil.snapshot()
    await markets.swap(market, { zeroForOne: true, amount: 10n ** 21n })
    const [first] = await anvil.mine()
    await pipeline.untilStored(first)
    await pipeline.stop()
    await anvil.revert(snapshot)
    await markets.swap(market, { zeroForOne: true, amount: 2n * 10n ** 21n })
    const [, tip] = await anvil.mine(2)
    pipeline = await openPipeline({ network: markets.network, url: anvil.wsUrl, database })
    await pipeline.untilStored(tip ?? { number: 0, hash: '0x' })
    expect((await ticksOf(market.id)).map((tick) => tick.amount0)).toEqual([`-${2n * 10n ** 21n}`])
  })
})
