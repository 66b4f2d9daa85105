/** Known ranges are exactly the blocks that the ledger and the ranges of jobs cover together. */

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gapsBetween, knownRanges } from '../../../aggregator/history/known-ranges.ts'
import type { KnownRange } from '../../../aggregator/history/ledger-runs.ts'
import type { BlockRange } from '../../../ingest/model/block-range.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { seededOnServers } from '../../support/seed.ts'
import { addressOf } from '../../support/store.ts'

const timeOf = (block: number) => 1_700_000_000 + 2 * block
const POOL = addressOf('0xaa')
const OTHER = addressOf('0xbb')

/** A row of the ledger covers `from` to `to`; `hasLogs` are blocks inside that have rows of their own. */
type LedgerRow = BlockRange & { hasLogs: readonly number[] }
type Job = BlockRange & { filter: string }

describe.skipIf(withoutClickHouse)('known ranges', () => {
  let database: TestDatabase
  let networks = 0

  beforeAll(async () => {
    database = await freshDatabase()
  })

  afterAll(() => database?.drop())

  async function store(rows: readonly LedgerRow[], jobs: readonly Job[] = [], gone: readonly number[] = []) {
    const { client } = database
    const network = `network ${networks++}` as NetworkName
    const shared = { network, hash: '0'.repeat(32), parent_hash: '0'.repeat(32), ticks: 0, digest: 0 }
    const block = (number: number, first: number, version = 1, is_deleted = 0) => ({
      ...{ ...shared, number, first, version, is_deleted, time: timeOf(number), finalized: 0 },
    })
    const values = [
      ...rows.flatMap(({ from, to, hasLogs }) => [...hasLogs.map((it) => block(it, it)), block(to, from)]),
      ...gone.flatMap((number) => [block(number, number), block(number, number, 2, 1)]),
    ]
    if (values.length > 0) await client.insert({ table: 'blocks', values, format: 'JSONEachRow' })
    const coverage = jobs.map(({ from, to, filter }, job) => ({
      ...{ network, filter, source: 'backfill', first: from, last: to, ticks: 0, digest: 0, job, version: 1 },
      ...{ first_time: timeOf(from), last_time: timeOf(to) },
    }))
    if (coverage.length > 0) await client.insert({ table: 'coverage', values: coverage, format: 'JSONEachRow' })
    return network
  }

  const live = (from: number, to: number): LedgerRow[] =>
    Array.from({ length: to - from + 1 }, (_, index) => ({ from: from + index, to: from + index, hasLogs: [] }))
  const known = (from: number, to: number): KnownRange => ({ from, to, fromTime: timeOf(from), toTime: timeOf(to) })

  test('a network without blocks has none', async () => {
    expect(await knownRanges(database.client, await store([]))).toEqual([])
    expect(gapsBetween([])).toEqual([])
  })

  test('a history in ranges and the live blocks above it are one, from the first time that is stored', async () => {
    const network = await store([{ from: 1, to: 100, hasLogs: [5, 50, 51] }, ...live(101, 120)], [], [121])
    expect(await knownRanges(database.client, network)).toEqual([{ ...known(1, 120), fromTime: timeOf(5) }])
  })

  test('a backfill apart from the live blocks leaves a gap between them', async () => {
    const network = await store(live(500, 510), [{ from: 100, to: 199, filter: '' }])
    const ranges = await knownRanges(database.client, network)
    expect(ranges).toEqual([known(100, 199), known(500, 510)])
    expect(gapsBetween(ranges)).toEqual([{ from: 200, to: 499, fromTime: timeOf(199), toTime: timeOf(500) }])
  })

  test('a range that a job has read for some pools is known of those pools', async () => {
    const network = await store(live(500, 510), [{ from: 400, to: 499, filter: [POOL, OTHER].join(',') }])
    const ask = (pools?: Parameters<typeof knownRanges>[2]) => knownRanges(database.client, network, pools)
    expect(await ask()).toEqual([known(500, 510)])
    expect(await ask([OTHER])).toEqual([known(400, 510)])
    expect(await ask([OTHER, addressOf('0xcc')])).toEqual([known(500, 510)])
  })

  test('are the unbroken runs of whatever is covered', async () => {
    const range = fc.tuple(fc.nat(60), fc.nat(12)).map(([from, length]) => ({ from, to: from + length }))
    const row = fc.oneof(
      range.chain(({ from, to }) =>
        fc.subarray(live(from, to - 1).map((it) => it.to)).map((hasLogs): LedgerRow => ({ from, to, hasLogs })),
      ),
      fc.nat(60).map((at): LedgerRow => ({ from: at, to: at, hasLogs: [] })),
    )
    const job = fc.tuple(range, fc.constantFrom('', POOL)).map(([it, filter]): Job => ({ ...it, filter }))
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 12 }), fc.array(job, { maxLength: 3 }), async (rows, jobs) => {
        // The ledger has each block once.
        const apart = rows.filter(({ from, to }, index) =>
          rows.slice(0, index).every((other) => to < other.from || from > other.to),
        )
        const network = await store(apart, jobs)
        const items = [...apart, ...jobs.filter(({ filter }) => filter === '')]
        const isKnown = (block: number) => items.some(({ from, to }) => from <= block && block <= to)
        const expected: BlockRange[] = []
        for (let block = 0; block <= 80; block++) {
          const last = expected.at(-1)
          if (!isKnown(block)) continue
          if (last?.to === block - 1) last.to = block
          else expected.push({ from: block, to: block })
        }
        const ranges = await knownRanges(database.client, network)
        expect(ranges.map(({ from, to }) => ({ from, to }))).toEqual(expected)
        for (const { from, to, fromTime, toTime } of ranges) {
          expect(toTime).toBe(timeOf(to))
          const timed = items.filter((it) => it.from >= from && it.to <= to)
          const times = timed.flatMap((it) => ('hasLogs' in it ? [...it.hasLogs, it.to] : [it.from])).map(timeOf)
          expect(fromTime).toBe(Math.min(...times))
        }
      }),
      seededOnServers({ numRuns: 60 }),
    )
  })
})
