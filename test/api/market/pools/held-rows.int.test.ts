import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Listing } from '../../../../api/market/model/listing.ts'
import { readHeldOver } from '../../../../api/market/pools/held-rows.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { Pool } from '../../../../ingest/model/pool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { block, liquidity, openStore } from '../../../support/store.ts'
import { POOLS, START } from '../../scenario.ts'

const HOUR = 3_600

describe.skipIf(withoutClickHouse)('minted liquidity over a day', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await freshDatabase()
    const mint = (pool: Pool, logIndex: number) => liquidity(pool, logIndex, 195_000, 205_000, 10n ** 18n)
    await openStore(
      database.client,
      'ethereum',
    )([
      block(1, START, { pools: [POOLS.main, POOLS.small], liquidity: [mint(POOLS.main, 1)] }),
      block(2, START + HOUR, { liquidity: [mint(POOLS.small, 1), mint(POOLS.main, 2)] }),
    ])
  })
  afterAll(() => database?.drop())

  test('is that of each request where several ask at once, for days that end at different times', async () => {
    const read = (requests: Parameters<typeof readHeldOver>[2]) => readHeldOver(database.client, 'ethereum', requests)
    const request = (pool: Pool, end: number) => {
      const listing: Listing = { network: NETWORKS.ethereum, created: 1, firstSeen: START, pool }
      return { listing, end, root: 1.0001 ** (200_000 / 2) }
    }
    const requests = [
      request(POOLS.main, START + 2 * HOUR),
      request(POOLS.small, START + 2 * HOUR),
      request(POOLS.main, START + 3 * HOUR),
      request(POOLS.unswapped, START + 3 * HOUR),
      request(POOLS.small, START + 4 * HOUR),
    ]
    const alone = (await Promise.all(requests.map((one) => read([one])))).flat()
    expect(await read(requests)).toEqual(alone)
    const [early, , late, never] = alone
    // Two hours and one, then three and two.
    expect((late?.held1 ?? 0) / (early?.held1 ?? 0)).toBeCloseTo(5 / 3, 6)
    expect(never).toBeUndefined()
  })
})
