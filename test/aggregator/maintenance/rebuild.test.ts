import { expect, test } from 'vitest'
import { plainEngine } from '../../../aggregator/maintenance/rebuild.ts'

const KEY = 'ORDER BY (network, pool, resolution, time) SETTINGS index_granularity = 1024, fsync_after_insert = 1'
const PLACE = "'/clickhouse/tables/{shard}/candlepool_share/candles', '{replica}'"

test('beside a replicated table stands one that is not, and is like it in all else', () => {
  expect(plainEngine(`ReplicatedReplacingMergeTree(${PLACE}, version) ${KEY}`)).toBe(
    `ReplacingMergeTree(version) ${KEY}`,
  )
  expect(plainEngine(`ReplicatedMergeTree(${PLACE}) ${KEY}`)).toBe(`MergeTree() ${KEY}`)
  expect(plainEngine(`ReplacingMergeTree(version) ${KEY}`)).toBe(`ReplacingMergeTree(version) ${KEY}`)
})
