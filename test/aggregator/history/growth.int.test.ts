/** Repeated queries, and those of a start, read as many rows of a long history as of a short one. */
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storedRanges } from '../../../aggregator/history/coverage.ts'
import { knownRanges } from '../../../aggregator/history/known-ranges.ts'
import { runsOfLedger } from '../../../aggregator/history/ledger-runs.ts'
import { Ledger } from '../../../aggregator/ledger/ledger.ts'
import { positionAfterStored, positionInLog } from '../../../aggregator/ledger/resume.ts'
import { ledgerStart, storedChain } from '../../../aggregator/ledger/stored-blocks.ts'
import { ask, loadSql } from '../../../aggregator/store/store.ts'
import { readCoverages } from '../../../api/market/cache/coverage.ts'
import { readTips } from '../../../api/market/model/tip.ts'
import { TIME_END } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { arrayLog } from '../../support/array-log.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { networkOf } from '../running.ts'
import { counted } from '../statements.ts'

const FIRST = 20_000_000
const SHORT = { network: networkOf('short'), blocks: 200_000 }
const LONG = { network: networkOf('long'), blocks: 2_000_000 }
const HISTORIES = [SHORT, LONG]

/** Rows are read in pieces of 8,192, at both ends of each stretch, and a question looks at several. */
const PIECES = 16 * 8_192

describe.skipIf(withoutClickHouse)('a ledger that is ten times as long', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
    for (const { network, blocks } of HISTORIES) await storeBlocks(network, FIRST, blocks)
  })
  afterAll(() => database?.drop())

  async function storeBlocks(network: NetworkName, first: number, count: number, version = 1, isDeleted = 0) {
    const zeros = "toFixedString(repeat('0', 32), 32)"
    await database.client.command({
      query: `INSERT INTO blocks
        (network, number, hash, parent_hash, time, first, ticks, digest, version, is_deleted, finalized)
        SELECT '${network}', ${first} + number, ${zeros}, ${zeros}, toDateTime(1700000000 + number, 'UTC'),
          ${first} + number, 1, 0, ${version} + 2 * number, ${isDeleted}, 0 FROM numbers(${count})`,
    })
  }

  const QUESTIONS: Record<string, (client: ClickHouseClient, network: NetworkName) => Promise<unknown>> = {
    'the ranges that are known whole': (client, network) => knownRanges(client, network),
    'the ranges to audit': (client, network) => storedRanges(client, network, undefined, 2 ** 40),
    'the first block': ledgerStart,
    'the tip': (client, network) => storedChain(client, network).tip(),
    'the newest blocks': Ledger.load,
    'blocks far below the tip': (client, network) => storedChain(client, network).below(FIRST + 150_000, 1_024),
    'the position in a log': (client, network) => positionInLog(client, network, arrayLog()),
    'the position where a process resumes': positionAfterStored,
    'the tip of the API': (client, network) => readTips(client, [network]),
    'the tip of the API, where the one before is known': async (client, network) => {
      const before = await readTips(client, [network])
      return readTips(client, [network], new Map([[network, { tip: before.get(network) }]]))
    },
    'the ranges that the API knows whole': (client, network) => readCoverages(client, [network]),
  }

  test.each(Object.entries(QUESTIONS))('a query for %s reads no more rows', async (_, ask) => {
    const rows: number[] = []
    for (const { network } of HISTORIES) {
      const counting = counted(database.client)
      await ask(counting.client, network)
      rows.push(counting.rowsRead())
    }
    const [short = 0, long = 0] = rows
    expect(short).toBeGreaterThan(0)
    expect(long).toBeLessThanOrEqual(short + PIECES)
  })

  test('answers are right, below a rollback that is longer than a stretch too', async () => {
    const { client } = database
    const last = FIRST + LONG.blocks - 1
    expect(await runsOfLedger(client, LONG.network)).toMatchObject([{ from: FIRST, to: last }])
    await storeBlocks(LONG.network, last - 119_999, 120_000, 10_000_000, 1)
    const tip = last - 120_000
    expect(await storedChain(client, LONG.network).tip()).toMatchObject({ number: tip })
    expect(await runsOfLedger(client, LONG.network)).toMatchObject([{ from: FIRST, to: tip }])
    expect((await readTips(client, [LONG.network])).get(LONG.network)).toMatchObject({ number: tip })
    expect(await storedRanges(client, LONG.network, undefined, 2 ** 40)).toMatchObject([{ from: FIRST, to: tip }])
    expect((await Ledger.load(client, LONG.network)).tip).toMatchObject({ number: tip })
    const { offset } = await positionAfterStored(client, LONG.network)
    expect(offset).toBe((10_000_000 + 2 * 119_999) / 2 + 1)
  })

  test('gaps show near the tip, and right below what is read', async () => {
    const { client } = database
    const gone = (number: number) => storeBlocks(SHORT.network, number, 1, 20_000_000, 1)
    const last = FIRST + SHORT.blocks - 1
    await gone(last - 10)
    await gone(last - 50_000)
    expect(await runsOfLedger(client, SHORT.network)).toMatchObject([
      { from: FIRST, to: last - 50_001 },
      { from: last - 49_999, to: last - 11 },
      { from: last - 9, to: last },
    ])
  })
})

describe.skipIf(withoutClickHouse)('ten times as many ticks', () => {
  let database: TestDatabase
  const isTouched = loadSql(import.meta.url, '../../../aggregator/history/is_touched.sql')
  /** History that a job states; what is stored begins above it, in the same month, and continues in later ones. */
  const stated = { first: FIRST - 2_000, last: FIRST - 1, until: 1_700_000_000, pools: [] }
  const SIZES = [
    { network: networkOf('short'), ticks: 100_000 },
    { network: networkOf('long'), ticks: 1_000_000 },
  ]

  beforeAll(async () => {
    database = await freshDatabase()
    for (const { network, ticks } of SIZES) {
      await database.client.command({
        query: `INSERT INTO ticks (network, pool, time, block, log_index, version)
          SELECT '${network}', '0xa1', toDateTime(1700000000 + 12 * number, 'UTC'), ${FIRST} + number, 1, 1
          FROM numbers(${ticks})`,
      })
    }
  })
  afterAll(() => database?.drop())

  test('the search for stored ticks of stated blocks reads no more rows', async () => {
    const rows = []
    for (const { network } of SIZES) {
      const counting = counted(database.client)
      expect(await ask(counting.client, isTouched, { network, ...stated })).toEqual([])
      rows.push(counting.rowsRead())
    }
    const [short = 0, long = 0] = rows
    expect(long).toBeLessThanOrEqual(short + PIECES)
  })

  test.each([1, 1_699_999_999, 1_700_000_000, TIME_END - 1])(
    'a tick of stated blocks is found under the second %i',
    async (time) => {
      const network = networkOf(`stored-${time}`)
      await database.client.command({
        query: `INSERT INTO ticks (network, pool, time, block, log_index, version)
          VALUES ('${network}', '0xa1', toDateTime(${time}, 'UTC'), ${stated.last}, 1, 1)`,
      })
      expect(await ask(database.client, isTouched, { network, ...stated })).toHaveLength(1)
    },
  )
})
