/** Clients that page through a pool's minutes: later pages are read ahead, and hold the rows of a cache that never did. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BucketCache } from '../../../../api/market/cache/bucket-cache.ts'
import type { Chunk } from '../../../../api/market/cache/chunk.ts'
import type { Listing } from '../../../../api/market/model/listing.ts'
import type { TimeRange } from '../../../../api/query/time-range.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { intercepted, queryOf } from '../../../aggregator/statements.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { block, openStore } from '../../../support/store.ts'
import { until } from '../../../support/until.ts'
import { buyEther, POOLS } from '../../scenario.ts'

const DAY = 86_400
const FIRST = 1_700_006_400
const DAYS = 60
const PAGE = 60_000
const BUCKETS = queryOf('api/market/cache/buckets.sql')
const LISTING: Listing = { network: NETWORKS.ethereum, pool: POOLS.main, created: 1, firstSeen: FIRST + DAY }

describe.skipIf(withoutClickHouse)('pages of a walk through minutes', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await freshDatabase()
    const blocks = Array.from({ length: DAYS * 4 }, (_, at) =>
      block(at + 1, FIRST + (at * DAY) / 4, {
        pools: at === 0 ? [POOLS.main] : [],
        ticks: [buyEther(POOLS.main, 10n ** 18n, BigInt(2_000 + at))],
      }),
    )
    await openStore(database.client, 'ethereum')(blocks)
  })
  afterAll(() => database?.drop())

  function opened() {
    let statements = 0
    let running = 0
    const reader = intercepted(database.client, (send, _statement, [request]) => {
      if (!BUCKETS.test((request as { query: string }).query)) return send()
      statements++
      running++
      return send().finally(() => {
        running--
      })
    })
    const cache = new BucketCache(reader, 10_000_000)
    const untilRead = () => until(async () => running === 0 || undefined, 'the statements have answered')
    return { cache, statements: () => statements, untilRead }
  }

  const rowsOf = (chunks: readonly Chunk[] | undefined) =>
    chunks?.map(({ rows }) => Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength).toString('hex'))
  const pagesFrom = (first: number, step: number, count: number): TimeRange[] =>
    Array.from({ length: count }, (_, at) => ({ from: first + at * step, to: first + at * step + PAGE }))

  test.each([
    ['back', pagesFrom(FIRST + DAYS * DAY - PAGE, -PAGE, 80)],
    ['forward', pagesFrom(FIRST + DAY, PAGE, 80)],
  ])('are in memory when a client asks for them, on the way %s', async (_, pages) => {
    const { cache, statements, untilRead } = opened()
    let waited = 0
    for (const page of pages) {
      const chunks = cache.read(LISTING, 60, page)
      if (chunks instanceof Promise) waited++
      expect(rowsOf(await chunks)).toEqual(rowsOf(await opened().cache.read(LISTING, 60, page)))
      await new Promise(setImmediate)
      await untilRead()
    }
    // Page two is the first one by which a walk is known, and its chunk is another one at times.
    expect(waited).toBeLessThanOrEqual(3)
    expect(statements()).toBeGreaterThan(waited)
    expect(statements()).toBeLessThan(20)
  })
})
