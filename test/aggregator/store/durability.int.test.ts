import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { applyDurability } from '../../../aggregator/store/durability.ts'
import { asBlocks, fullBlocks, mine } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { rowsOf } from '../../support/rows.ts'
import { networkOf, startAggregator } from '../running.ts'

describe.skipIf(withoutClickHouse)('durability', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  async function synced(): Promise<string[]> {
    const query = `SELECT name FROM system.tables WHERE database = currentDatabase()
                   AND position(engine_full, 'fsync_after_insert = 1') > 0 ORDER BY name`
    const answer = await database.client.query({ query, format: 'JSONEachRow' })
    return (await answer.json<{ name: string }>()).map(({ name }) => name)
  }

  test.each([
    [
      'every write',
      [
        'blocks',
        'candles',
        'coverage',
        'jobs',
        'liquidity_changes',
        'owners',
        'pool_balance_hours',
        'pool_balances',
        'pool_bounds',
        'pool_filters',
        'pools',
        'pools_by_token',
        'settled',
        'ticks',
        'tokens_by_symbol',
      ],
    ],
    ['metadata', ['coverage', 'jobs', 'owners', 'pool_filters', 'settled']],
    ['none', []],
  ] as const)('%s: %s are on the disk when they are answered', async (which, tables) => {
    await applyDurability(database.client, which)
    await applyDurability(database.client, which)
    expect(await synced()).toEqual(tables)
    const network = networkOf(which)
    const aggregator = await startAggregator(database.client, { network })
    await aggregator.append(asBlocks(network, mine([], fullBlocks(3, 1))))
    await aggregator.stop()
    expect((await rowsOf(database.client, 'ticks')).length).toBeGreaterThan(2)
  })
})
