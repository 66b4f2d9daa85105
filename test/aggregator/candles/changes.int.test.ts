/** Changes in the table, for caches in other processes. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { recordChanges } from '../../../aggregator/candles/changes.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'

const HOURS_BEHIND_MS = 3 * 3_600_000

describe.skipIf(withoutClickHouse)('the table of changes', () => {
  let database: TestDatabase

  beforeEach(async () => {
    database = await freshDatabase()
  })
  afterEach(async () => {
    await database?.drop()
  })

  test('changes of a writer whose clock is behind stay for an hour', async () => {
    const behind = Date.now() - HOURS_BEHIND_MS
    const clock = vi.spyOn(Date, 'now').mockReturnValue(behind)
    const touched = [{ pool: '0x11b815efb8f581194ae79006d24e0d814b7697f6' as const, first: 1, last: 2 }]
    for (let sequence = 1n; sequence <= 3n; sequence++)
      await recordChanges(database.client, 'ethereum', touched, { sequence, block: 7, version: 5n })
    clock.mockRestore()
    await database.client.command({ query: 'OPTIMIZE TABLE changes FINAL' })
    const answer = await database.client.query({
      query: `SELECT toString(sequence) AS sequence, toUnixTimestamp(first) AS first, toUnixTimestamp(last) AS last, toString(block) AS block,
        toString(version) AS version FROM changes ORDER BY sequence`,
      format: 'JSONEachRow',
    })
    const row = { first: 1, last: 2, block: '7', version: '5' }
    expect(await answer.json()).toEqual(['1', '2', '3'].map((sequence) => ({ sequence, ...row })))
  })
})
