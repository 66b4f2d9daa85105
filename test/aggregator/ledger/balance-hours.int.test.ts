/** Stored balances of pools: one row for a pool and hour, whatever was traded, read again or taken back. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BlockMessage } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { asBlocks, type BlockPlan, mine, POOLS } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { networkOf, startAggregator } from '../running.ts'

const [POOL, OTHER] = POOLS.map(({ id }) => id) as [`0x${string}`, `0x${string}`]
const HOUR = 3_600

/** Blocks 60 s apart, each with a reading of the pool that says which block it was. */
function plans(count: number, first = 0, pool = POOL): BlockPlan[] {
  return Array.from({ length: count }, (_, index) => ({
    secondsLater: 60,
    ticks: [],
    pools: [],
    liquidity: [],
    balances: [{ pool, balance0: BigInt(first + index), balance1: 1n }],
  }))
}

describe.skipIf(withoutClickHouse)('the balances of a pool', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  async function stored(network: NetworkName, ...appends: readonly (readonly BlockMessage[])[]): Promise<void> {
    const aggregator = await startAggregator(database.client, { network })
    for (const append of appends) await aggregator.append(append)
    expect(await aggregator.stop()).toBeUndefined()
  }

  /** One after the other: the reading of each hour, and the hour. */
  async function held(network: NetworkName, pool = POOL): Promise<[reading: number, hour: number][]> {
    const answer = await database.client.query({
      query: `SELECT toFloat64(balance0) AS reading, toUnixTimestamp(hour) AS hour FROM pool_balance_hours FINAL
              WHERE network = {network:String} AND pool = {pool:String} ORDER BY hour`,
      query_params: { network, pool },
      format: 'JSONEachRow',
    })
    return (await answer.json<{ reading: number; hour: number }>()).map(({ reading, hour }) => [reading, hour])
  }

  const count = async (table: string, network: NetworkName): Promise<number> => {
    const query = `SELECT count() AS rows FROM ${table} WHERE network = {network:String}`
    const answer = await database.client.query({ query, query_params: { network }, format: 'JSONEachRow' })
    return Number((await answer.json<{ rows: string }>())[0]?.rows)
  }

  test('an hour has one row, that of its newest reading, however many there are', async () => {
    const network = networkOf('hours')
    const chain = mine([], plans(600))
    await stored(network, asBlocks(network, chain))
    const newest = new Map(chain.map(({ timestamp }, index) => [Math.floor(timestamp / HOUR) * HOUR, index] as const))
    expect(await held(network)).toEqual([...newest].map(([hour, reading]) => [reading, hour]))
    await database.client.command({ query: 'OPTIMIZE TABLE pool_balance_hours FINAL' })
    expect(await count('pool_balance_hours', network)).toBe(newest.size)
  })

  test('a single reading is kept for a day, and no longer', async () => {
    const network = networkOf('expiring')
    await stored(network, asBlocks(network, mine([], plans(50))))
    expect(await count('pool_balances', network)).toBe(50)
    await database.client.command({
      query: `INSERT INTO pool_balances SELECT * REPLACE (now() - INTERVAL 25 HOUR AS written, block + 1000 AS block)
              FROM pool_balances WHERE network = {network:String}`,
      query_params: { network },
    })
    await database.client.command({ query: 'OPTIMIZE TABLE pool_balances FINAL' })
    expect(await count('pool_balances', network)).toBe(50)
  })

  test('a reorg within an hour puts back the reading before it, also after a merge', async () => {
    const network = networkOf('reorg')
    const trunk = mine([], plans(100))
    const orphaned = mine(trunk, [...plans(80, 1_000), ...plans(1, 5_000, OTHER)], 'orphaned')
    const empty = { secondsLater: 60, ticks: [], pools: [], liquidity: [], balances: [] }
    const other = mine(trunk, [empty], 'other')
    await stored(network, asBlocks(network, trunk))
    const before = await held(network)
    await stored(network, asBlocks(network, orphaned.slice(100)))
    expect(await held(network)).not.toEqual(before)
    expect(await held(network, OTHER)).toHaveLength(1)
    await database.client.command({ query: 'OPTIMIZE TABLE pool_balance_hours FINAL' })
    await stored(network, asBlocks(network, other.slice(100)))
    expect(await held(network)).toEqual(before)
    expect(await held(network, OTHER)).toEqual([])
    const back = mine(trunk, plans(3, 7_000), 'back')
    await stored(network, asBlocks(network, back.slice(100)))
    expect((await held(network)).at(-1)?.[0]).toBe(7_002)
  })

  test('the reading of a flush that was cut off before its ledger is taken back at the next start', async () => {
    const network = networkOf('crash')
    await stored(network, asBlocks(network, mine([], plans(3))))
    const before = await held(network)
    await database.client.command({
      query: `INSERT INTO pool_balance_hours SELECT * REPLACE (block + 1 AS block, 99 AS balance0, version + 2 AS version)
              FROM pool_balance_hours FINAL WHERE network = {network:String} ORDER BY block DESC LIMIT 1`,
      query_params: { network },
    })
    expect(await held(network)).not.toEqual(before)
    await stored(network)
    expect(await held(network)).toEqual(before)
  })

  const leaveFlush = (network: NetworkName) =>
    database.client.command({
      query: `INSERT INTO pool_balance_hours SELECT * REPLACE (block + 1 AS block, 99 AS balance0, version + 2 AS version)
              FROM (SELECT * FROM pool_balance_hours FINAL WHERE network = {network:String} ORDER BY block DESC LIMIT 1)`,
      query_params: { network },
    })

  test.each([
    ['the first message of the next process', false],
    ['the first message after another crash and a merge', true],
  ])('a reading that a start put back is taken back by a fork in %s', async (what, isMerged) => {
    const network = networkOf(what)
    const chain = mine([], plans(3))
    const fork = mine(chain.slice(0, 2), plans(1, 7_000, OTHER), 'fork')
    await stored(network, asBlocks(network, chain))
    await leaveFlush(network)
    if (isMerged) {
      await stored(network)
      await database.client.command({ query: 'OPTIMIZE TABLE pool_balance_hours FINAL' })
    }
    await stored(network, asBlocks(network, fork.slice(2)))
    expect((await held(network)).at(-1)?.[0]).toBe(1)
  })
})
