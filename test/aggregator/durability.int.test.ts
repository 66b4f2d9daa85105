import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { applyDurability } from '../../aggregator/durability.ts'
import { asBlocks, fullBlocks, mine } from '../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { rowsOf } from '../support/rows.ts'
import { networkOf, startAggregator } from './running.ts'

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

  test('all that the ledger vouches for is on the disk before the ledger is; and can be told not to be', async () => {
    await applyDurability(database.client, true)
    await applyDurability(database.client, true)
    const vouchedFor = ['candles', 'coverage', 'liquidity_changes', 'pool_balances', 'pools', 'ticks']
    expect(await synced()).toEqual(['blocks', 'jobs', 'owners', ...vouchedFor].sort())
    const aggregator = await startAggregator(database.client, { network: networkOf('ethereum') })
    await aggregator.append(asBlocks(networkOf('ethereum'), mine([], fullBlocks(3, 1))))
    await aggregator.stop()
    expect((await rowsOf(database.client, 'ticks')).length).toBeGreaterThan(2)
    await applyDurability(database.client, false)
    expect(await synced()).toEqual([])
  })
})
