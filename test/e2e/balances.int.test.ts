/** Stored balances of v3 pools equal those of the token contracts, after every step and on every branch. */
import { createPublicClient, erc20Abi, http } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { queryRows, readSql } from '../../api/lib/store.ts'
import type { DevMarket } from '../../infra/devnet/market/market.ts'
import { connectChain } from '../../infra/rpc/chain-client.ts'
import type { Pool } from '../../ingest/model/pool.ts'
import { BalanceReader } from '../../ingest/pools/balances.ts'
import { deployMarkets, type MinedBlock, startAnvil, type TestAnvil, type TestMarkets } from '../support/anvil.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'

const BALANCES = readSql(new URL('../../api/market/pools/balances.sql', import.meta.url))
const POSITION = { tickLower: 180_000, tickUpper: 210_000, liquidity: 10n ** 16n }

describe.skipIf(withoutClickHouse)('what v3 pools hold', () => {
  let anvil: TestAnvil
  let markets: TestMarkets
  let database: TestDatabase
  let pipeline: Pipeline
  let market: DevMarket

  beforeAll(async () => {
    ;[anvil, database] = await Promise.all([startAnvil(), freshDatabase()])
    markets = await deployMarkets(anvil)
    market = markets.market('v3 USDC/WETH 3000')
  })

  afterAll(async () => {
    await pipeline?.stop()
    await anvil?.stop()
    await database?.drop()
  })

  async function stored({ id }: DevMarket) {
    const rows = await queryRows<{ balance0: string; balance1: string }>(database.client, BALANCES, {
      network: 'ethereum',
      pools: [id],
    })
    return rows.map(({ balance0, balance1 }) => [BigInt(balance0), BigInt(balance1)])
  }

  function onChain({ id, token0, token1 }: DevMarket) {
    const client = createPublicClient({ transport: http(anvil.httpUrl) })
    const read = { abi: erc20Abi, functionName: 'balanceOf', args: [id as `0x${string}`] } as const
    return Promise.all([token0, token1].map(({ address }) => client.readContract({ ...read, address })))
  }

  async function mine(blocks = 1, ...timestamps: number[]): Promise<MinedBlock> {
    const tip = (await anvil.mine(blocks, timestamps)).at(-1) as MinedBlock
    await pipeline.untilStored(tip)
    return tip
  }

  test('the balance of an idle pool is read again after a reorg removed its reading', async () => {
    // All that happened in it is below; the first look is at a head above, of which nothing stays.
    const snapshot = await anvil.snapshot()
    const orphan = (await anvil.mine(3)).at(-1) as MinedBlock
    pipeline = await openPipeline({ network: markets.network, url: anvil.wsUrl, database })
    await pipeline.untilStored(orphan)
    // A reading goes beside the logs of the next block.
    await mine()
    const balances = await onChain(market)
    expect(await stored(market)).toEqual([balances])
    await anvil.revert(snapshot)
    const { timestamp } = await anvil.block('latest')
    // Empty blocks of the same times would be the same blocks.
    await mine(5, timestamp + 1)
    expect(pipeline.facts).toContainEqual(expect.objectContaining({ kind: 'reorg', depth: 4 }))
    expect(await stored(market)).toEqual([balances])
  })

  test('every step of a pool shows with the next block that is told, however soon it follows the one before', async () => {
    const steps = [
      () => markets.swap(market, { zeroForOne: true, amount: 40_000_000_000n }),
      () => markets.mint(market, POSITION),
      () => markets.swap(market, { zeroForOne: false, amount: 10n ** 18n }),
      () => markets.burn(market, POSITION),
    ]
    for (const step of steps) {
      const before = await onChain(market)
      await step()
      // Told together, both would be read at once.
      await mine()
      await mine()
      const after = await onChain(market)
      expect(after).not.toEqual(before)
      expect(await stored(market)).toEqual([after])
    }
  })

  test('a step shows where its block and the next are read at once', async () => {
    await pipeline.stop()
    await markets.swap(market, { zeroForOne: true, amount: 50_000_000_000n })
    const tip = (await anvil.mine(2)).at(-1) as MinedBlock
    pipeline = await openPipeline({ network: markets.network, url: anvil.wsUrl, database })
    await pipeline.untilStored(tip)
    expect(await stored(market)).toEqual([await onChain(market)])
  })

  test('blocks within six seconds share a reading, and what moved in the later ones waits for the next', async () => {
    const { network } = markets
    const { endpoints } = connectChain([anvil.httpUrl], {
      network,
      report: () => undefined,
      signal: new AbortController().signal,
    })
    const reader = new BalanceReader(endpoints)
    const { id, token0, token1, fee } = market
    const pool: Pool = { id, protocol: 'dex-v3', token0, token1, fee, initialSqrtPriceX96: 0n }
    const block = await anvil.block('latest')
    reader.touch(pool)
    expect(await reader.read(block)).toHaveLength(1)
    reader.touch(pool)
    expect(await reader.read(block)).toEqual([])
    expect(await reader.read({ ...block, timestamp: block.timestamp + 5 })).toEqual([])
    expect(await reader.read({ ...block, timestamp: block.timestamp + 6 })).toHaveLength(1)
    expect(await reader.read({ ...block, timestamp: block.timestamp + 12 })).toEqual([])
  })

  test('a trade on a branch that is gone is gone from what the pool holds', async () => {
    const before = await onChain(market)
    const snapshot = await anvil.snapshot()
    await markets.swap(market, { zeroForOne: true, amount: 70_000_000_000n })
    await mine()
    await mine()
    expect(await stored(market)).not.toEqual([before])
    await anvil.revert(snapshot)
    await mine(2)
    await mine()
    expect(await stored(market)).toEqual([before])
  })
})
