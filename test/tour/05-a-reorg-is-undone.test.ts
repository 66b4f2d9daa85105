/** Chapter 5. The chain changes its mind; the candles are as if the first branch had never been. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deployMarkets, startAnvil, type TestAnvil, type TestMarkets } from '../support/anvil.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'

const DOLLARS = 1_000_000n
const ETHER = 10n ** 18n

describe.skipIf(withoutClickHouse)('on a real node with real Uniswap contracts', () => {
  let anvil: TestAnvil
  let markets: TestMarkets
  let database: TestDatabase
  let pipeline: Pipeline

  beforeAll(async () => {
    ;[anvil, database] = await Promise.all([startAnvil(), freshDatabase()])
    markets = await deployMarkets(anvil)
    // The pipeline: a listener on that node, an in-process log, an aggregator over those tables.
    pipeline = await openPipeline({ network: markets.network, url: anvil.wsUrl, database })
  })

  afterAll(async () => {
    await pipeline?.stop()
    await anvil?.stop()
    await database?.drop()
  })

  async function candles(): Promise<unknown[]> {
    const answer = await database.client.query({
      query: 'SELECT * EXCEPT version FROM candles FINAL WHERE trades > 0 ORDER BY network, pool, resolution, time',
      format: 'JSONEachRow',
    })
    return answer.json()
  }

  /** Amounts that takers paid (−) and received (+) in USDC, swap by swap. */
  async function usdcAmounts(): Promise<string[]> {
    const answer = await database.client.query({
      query: 'SELECT toString(intDiv(amount0, 1000000)) AS usdc FROM ticks FINAL ORDER BY block, log_index',
      format: 'JSONEachRow',
    })
    return (await answer.json<{ usdc: string }>()).map(({ usdc }) => usdc)
  }

  test('a branch that is left leaves nothing behind', async () => {
    const pool = markets.market('v3 USDC/WETH 500')
    await markets.swap(pool, { zeroForOne: true, amount: 25_000n * DOLLARS })
    const [common] = await anvil.mine()
    await pipeline.untilStored(common)
    const before = await candles()
    expect(await usdcAmounts()).toEqual(['-25000'])

    // The first branch: a large swap and two empty blocks on top of it.
    const fork = await anvil.snapshot()
    await markets.swap(pool, { zeroForOne: true, amount: 900_000n * DOLLARS })
    const [, , firstTip = common] = await anvil.mine(3)
    await pipeline.untilStored(firstTip)
    expect(await usdcAmounts()).toEqual(['-25000', '-900000'])
    expect(await candles()).not.toEqual(before)

    // The chain goes back to the common block and takes another branch, without trades.
    await anvil.revert(fork)
    const [, , , secondTip = common] = await anvil.mine(4)
    await pipeline.untilStored(secondTip)
    expect(await usdcAmounts()).toEqual(['-25000'])
    expect(await candles()).toEqual(before)
  })

  test('the listener said nothing special: parent hashes told the aggregator how deep it was', () => {
    const depth = pipeline.facts.flatMap((fact) => (fact.kind === 'rolled-back' ? fact.depth : []))
    expect(depth).toEqual([3])
  })

  test('the branch that stays is read as if it had been the only one', async () => {
    const pool = markets.market('v3 USDC/WETH 500')
    await markets.swap(pool, { zeroForOne: false, amount: 5n * ETHER })
    const [tip] = await anvil.mine()
    await pipeline.untilStored(tip)
    expect(await usdcAmounts()).toMatchInlineSnapshot(`
      [
        "-25000",
        "15994",
      ]
    `)
  })
})
