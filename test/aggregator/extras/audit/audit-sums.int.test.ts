/** The tables sum up blocks as the core does, whatever is in them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { countDifferences, storedSums, sumsOf } from '../../../../aggregator/extras/audit/audit-sums.ts'
import { FIRST_BLOCK, fullBlocks, mine, POOLS } from '../../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { openStore } from '../../../support/store.ts'

const chain = mine([], fullBlocks(200, 11))
const network = 'base'
const range = { from: FIRST_BLOCK + 50, to: FIRST_BLOCK + 149 }
const blocks = chain.slice(50, 150)
const pools = POOLS.slice(0, 1).map(({ id }) => id)
const ofPools = <Thing extends { pool: string }>(things: readonly Thing[]) =>
  things.filter(({ pool }) => pools.some((id) => id === pool))

describe.skipIf(withoutClickHouse)('sums over stored blocks', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await freshDatabase()
    await openStore(database.client, network)(chain)
  })

  afterAll(() => database?.drop())

  test('the sums are those of the core, block by block', async () => {
    const stored = await storedSums(database.client, { network, pools: undefined, ...range })
    expect([...stored].sort(([a], [b]) => a - b)).toEqual(blocks.map((block) => [block.number, sumsOf(block)]))
  })

  test('the sums of some pools leave the others out', async () => {
    const stored = await storedSums(database.client, { network, pools, ...range })
    const expected = blocks
      .map(({ number, timestamp, ticks, liquidity }) => [
        number,
        sumsOf({ timestamp, ticks: ofPools(ticks), liquidity: ofPools(liquidity) }),
      ])
      .filter(([, sums]) => typeof sums === 'object' && sums.logs > 0)
    expect([...stored].sort(([a], [b]) => a - b)).toEqual(expected)
  })

  test('the differences count the logs that are missing and those that are too many', async () => {
    const [block] = blocks
    if (!block) throw new Error('There are blocks.')
    const of = (changed: Partial<typeof block>) =>
      countDifferences(database.client, { network, pools: undefined }, { ...block, ...changed })
    expect(await of({})).toEqual({ omitted: 0, invented: 0 })
    expect(await of({ ticks: block.ticks.slice(1) })).toEqual({ omitted: 0, invented: 1 })
    const logs = block.ticks.length + block.liquidity.length
    expect(await of({ timestamp: block.timestamp + 1 })).toEqual({ omitted: logs, invented: logs })
    const [change, ...rest] = block.liquidity
    if (!change) throw new Error('A full block has a liquidity change.')
    const grown = { ...change, liquidityDelta: change.liquidityDelta + 1n }
    expect(await of({ liquidity: [grown, ...rest] })).toEqual({ omitted: 1, invented: 1 })
  })
})
