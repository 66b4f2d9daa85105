import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { replicated } from '../../../infra/clickhouse/cluster.ts'
import { readMigrations } from '../../../infra/clickhouse/migrate.ts'
import { statementsOf } from '../../../infra/clickhouse/statements.ts'

const PLACE = "'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'"

describe('a table that all replicas of a shard keep', () => {
  test('keeps what its engine is told', () => {
    expect(replicated('CREATE TABLE a (b UInt8)\nENGINE = ReplacingMergeTree(version, is_deleted)\nORDER BY b')).toBe(
      `CREATE TABLE a (b UInt8)\nENGINE = ReplicatedReplacingMergeTree(${PLACE}, version, is_deleted)\nORDER BY b`,
    )
    expect(replicated('CREATE TABLE a (b UInt8) ENGINE = MergeTree ORDER BY b')).toBe(
      `CREATE TABLE a (b UInt8) ENGINE = ReplicatedMergeTree(${PLACE}) ORDER BY b`,
    )
  })

  test('is made by each statement of the migrations that makes one, and nothing else is touched', async () => {
    const migrations = await readMigrations(join(import.meta.dirname, '../../../infra/clickhouse/migrations'))
    const statements = migrations.flatMap(({ sql }) => statementsOf(sql))
    const changed = statements.filter((statement) => replicated(statement) !== statement)
    expect(changed).toEqual(statements.filter((statement) => /^(--.*\n|\s)*CREATE TABLE/.test(statement)))
    expect(changed.length).toBeGreaterThan(10)
    for (const statement of changed) expect(replicated(statement).match(/ENGINE = Replicated/g)?.length).toBe(1)
  })
})
