/** Tips and changes of more networks than one statement has places for, each from a bound of its own. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BucketCache } from '../../../../api/market/cache/bucket-cache.ts'
import { openCacheRefresh } from '../../../../api/market/cache/cache-refresh.ts'
import { openChangeLog, readChanges } from '../../../../api/market/cache/change-log.ts'
import { readTips } from '../../../../api/market/model/tip.ts'
import type { NetworkName } from '../../../../ingest/model/network.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'

const NETWORKS = Array.from({ length: 12 }, (_, index) => `network ${index}` as NetworkName)
/** Each network has numbers that another one has not. */
const newestOf = (index: number) => 1_000 * (index + 1)
const STORED = 20

describe.skipIf(withoutClickHouse)('of several networks', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await freshDatabase()
    // The last one has nothing.
    for (const [index, network] of NETWORKS.slice(0, -1).entries()) {
      await database.client.command({
        query: `INSERT INTO blocks (network, number, first, hash, time, version)
          SELECT '${network}', ${newestOf(index)} - number, ${newestOf(index)} - number,
            toFixedString(char(${index + 1}), 32), toDateTime(1700000000 - number, 'UTC'), 1 FROM numbers(${STORED})`,
      })
      await database.client.command({
        query: `INSERT INTO changes (network, sequence, pool, first, last, block, version)
          SELECT '${network}', ${newestOf(index)} - number, 'pool ${index}', 0, 0, 1, 1 FROM numbers(${STORED})`,
      })
    }
  })
  afterAll(() => database?.drop())

  test('each tip is its own, whatever was known before', async () => {
    // At the tip, far below it, above it after a rollback, and not known.
    const offsets = [0, -15, 7, undefined]
    const known = new Map(
      NETWORKS.map((network, index) => {
        const offset = offsets[index % offsets.length]
        const tip = { number: newestOf(index) + (offset ?? 0), hash: '', timestamp: 0, finalized: 0 }
        return [network, { tip: offset === undefined ? undefined : tip }]
      }),
    )
    const read = await readTips(database.client, NETWORKS, known)
    expect(read.size).toBe(NETWORKS.length - 1)
    for (const [index, network] of NETWORKS.slice(0, -1).entries()) {
      const hash = `0x${(index + 1).toString(16).padStart(2, '0')}`.padEnd(66, '0')
      expect(read.get(network)).toMatchObject({ number: newestOf(index), hash, timestamp: 1_700_000_000, finalized: 0 })
    }
  })

  test('each change is read once, in order, from where its network stood', async () => {
    const cache = new BucketCache(database.client, 2 ** 20)
    const refresh = openCacheRefresh(database.client, cache)
    const logs = new Map(
      NETWORKS.map((network) => [network, openChangeLog({ network, cache, refresh, onChange: () => undefined })]),
    )
    // A first read takes the position alone.
    expect((await readChanges(database.client, logs)).flatMap(({ rows }) => rows)).toEqual([])
    for (const [index, network] of NETWORKS.slice(0, -1).entries())
      logs.get(network)?.begin(`${newestOf(index) - index}`)
    const read = await readChanges(database.client, logs)
    expect(read.map(({ network }) => network)).toEqual(NETWORKS)
    for (const [index, { rows, log }] of read.slice(0, -1).entries()) {
      const numbers = Array.from({ length: index }, (_, at) => String(newestOf(index) - index + 1 + at))
      expect(rows.map(({ number }) => number)).toEqual(numbers)
      expect(rows.every(({ pool }) => pool === `pool ${index}`)).toBe(true)
      await log.apply(rows, undefined)
      expect(log.position()).toBe(String(newestOf(index)))
    }
    expect((await readChanges(database.client, logs)).flatMap(({ rows }) => rows)).toEqual([])
  })
})
