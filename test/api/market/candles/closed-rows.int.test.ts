/** Kept rows of closed ranges where the store has gone away. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BucketCache } from '../../../../api/market/cache/bucket-cache.ts'
import { openClosedRows } from '../../../../api/market/candles/closed-rows.ts'
import { openUsdCandles } from '../../../../api/market/candles/usd-candles.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { intercepted } from '../../../aggregator/statements.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { minute, POOLS, storeScenario, TIP } from '../../scenario.ts'

describe.skipIf(withoutClickHouse)('kept rows', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
    await storeScenario(database.client)
  })
  afterAll(() => database?.drop())

  test('are read again after an eviction, and a store that does not answer fails that request alone', async () => {
    let isAway = false
    const client = intercepted(database.client, async (send) => {
      if (isAway) throw new Error('The store is away.')
      return send()
    })
    const cache = new BucketCache(client, 10_000_000)
    const rows = openClosedRows({ reader: client, cache, usd: openUsdCandles(client, 0) }, 10_000_000)
    const view = {
      listing: { network: NETWORKS.ethereum, pool: POOLS.main, created: undefined, firstSeen: 0 },
      forward: true,
    }
    const tip = { number: 120, hash: '0x', timestamp: TIP, finalized: 0 }
    const coverage = { tip, backfilled: [], gaps: [], unproven: [], finalUntil: undefined }
    const range = { from: minute(0), to: minute(20) }
    const request = {
      view,
      interval: 60,
      limit: 100,
      price: 'execution',
      flow: false,
      fill: 'previous',
      range,
      coverage,
    } as const
    const first = await rows.read(request, minute(60))
    expect(first.length).toBeGreaterThan(0)
    expect(await rows.read(request, minute(60))).toBe(first)
    cache.evictAll()
    isAway = true
    await expect(rows.read(request, minute(60))).rejects.toThrow('The store does not answer')
    isAway = false
    expect(await rows.read(request, minute(60))).toEqual(first)
  })
})
