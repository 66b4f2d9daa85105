/** Pools as the tables know them, asked for by many ids. */
import { numberToHex, padHex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storedPools } from '../../../aggregator/store/stored-pools.ts'
import type { Pool } from '../../../ingest/model/pool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { addressOf, block, openStore, poolOf } from '../../support/store.ts'

const ETHER = { address: addressOf('e1'), symbol: 'ETH', name: 'Ether', decimals: 18 }
const DOG = { address: addressOf('d0'), symbol: 'DOG "🐕"', name: 'Dog', decimals: 0 }
const idOf = (index: number) => padHex(numberToHex(index + 1), { size: 32 })
/** Ids of so many v4 pools are longer than the address of a request may be. */
const POOLS = 2_500

describe.skipIf(withoutClickHouse)('stored pools', () => {
  let database: TestDatabase
  const pools = Array.from(
    { length: POOLS },
    (_, index): Pool => ({
      ...poolOf(idOf(index), ETHER, DOG, { protocol: 'dex-v4', fee: index }),
    }),
  )

  beforeAll(async () => {
    database = await freshDatabase()
    const renamed = pools.slice(0, 1).map((pool) => ({ ...pool, token1: { ...DOG, symbol: 'DOGE' } }))
    await openStore(
      database.client,
      'ethereum',
    )([block(100, 1_700_000_000, { pools }), block(101, 1_700_000_012, { pools: renamed })])
  })
  afterAll(() => database?.drop())

  test('are all found, each once, as the newest block names it', async () => {
    const found = await storedPools(database.client, 'ethereum')([idOf(9_999), ...pools.map(({ id }) => id)])
    expect(found).toHaveLength(POOLS)
    expect(found.find(({ id }) => id === idOf(0))?.token1.symbol).toBe('DOGE')
    expect(found.find(({ id }) => id === idOf(7))).toEqual(pools[7])
  })

  test('are those of their network', async () => {
    expect(await storedPools(database.client, 'polygon')([idOf(7)])).toEqual([])
  })
})
