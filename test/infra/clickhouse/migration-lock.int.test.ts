/** The lock of a migration: held as long as the migration runs, and released by the death of its owner. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withMigrationLock } from '../../../infra/clickhouse/migration-lock.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { until } from '../../support/until.ts'

describe.skipIf(withoutClickHouse)('the lock of a migration', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  async function locks(): Promise<{ changed: number; comment: string }[]> {
    const answer = await database.client.query({
      query: `SELECT toUnixTimestamp(metadata_modification_time) AS changed, comment FROM system.tables
        WHERE database = currentDatabase() AND name = 'migrations_lock'`,
      format: 'JSONEachRow',
    })
    return answer.json()
  }

  test('the lock stays fresh while a statement runs, and is gone after it', async () => {
    await withMigrationLock(
      database.client,
      async () => {
        const [{ changed: before } = { changed: 0 }] = await locks()
        const statement = database.client.command({
          query: 'SELECT sleepEachRow(0.1) FROM numbers(30) SETTINGS max_block_size = 1',
        })
        for (const seconds of [1, 2]) {
          const isFresher = async () => ((await locks())[0]?.changed ?? 0) >= before + seconds || undefined
          await until(isFresher, 'the lock is renewed')
        }
        await statement
      },
      { beatMs: 100 },
    )
    expect(await locks()).toEqual([])
  })

  test('a lock that another process has taken meanwhile is left to it', async () => {
    await withMigrationLock(
      database.client,
      async () => {
        await database.client.command({ query: 'DROP TABLE migrations_lock SYNC' })
        await database.client.command({
          query: "CREATE TABLE migrations_lock (held UInt8) ENGINE = TinyLog COMMENT 'other'",
        })
      },
      { beatMs: 100 },
    )
    expect(await locks()).toMatchObject([{ comment: 'other' }])
    await database.client.command({ query: 'DROP TABLE migrations_lock SYNC' })
  })

  test('the lock is dropped when the work fails', async () => {
    const failing = withMigrationLock(database.client, () => Promise.reject(new Error('It fails.')))
    await expect(failing).rejects.toThrow('It fails.')
    expect(await locks()).toEqual([])
  })
})
