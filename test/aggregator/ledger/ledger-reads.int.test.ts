/** Questions of the ledger read as many rows of a long history as of a short one. */
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storedRanges } from '../../../aggregator/history/coverage.ts'
import { Ledger } from '../../../aggregator/ledger/ledger.ts'
import { positionAfterStored } from '../../../aggregator/ledger/resume.ts'
import { ledgerStart, newestBlock, storedChain } from '../../../aggregator/ledger/stored-blocks.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { until } from '../../support/until.ts'
import { intercepted } from '../statements.ts'

const SHORT = 'ethereum'
const LONG = 'polygon'
const FIRST = 1_000
/** Twenty times as many blocks in the long one. */
const BLOCKS = { [SHORT]: 200_000, [LONG]: 4_000_000 } as const
/** Where rows are read in the order of the key, ClickHouse reads ahead of the last one that is wanted: in a larger part by larger pieces. */
const READ_AHEAD_ROWS = 64 * 8_192

describe.skipIf(withoutClickHouse)('the ledger', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await freshDatabase()
    for (const network of [SHORT, LONG] as const) await storeBlocks(network, FIRST, BLOCKS[network])
    // Each part adds a granule or two to what is read. A merge under way leaves its parts to a later OPTIMIZE.
    await until(async () => {
      await database.client.command({ query: 'OPTIMIZE TABLE blocks FINAL' })
      return (await partsOf(database.client, 'blocks')) === 1 ? true : undefined
    }, 'each partition of the blocks is one part')
  })
  afterAll(() => database?.drop())

  /** `count` blocks from `first` on: one of each second. */
  async function storeBlocks(network: string, first: number, count: number, version = 1, isDeleted = 0) {
    await database.client.command({
      query: `INSERT INTO blocks (network, number, hash, time, first, version, is_deleted, finalized)
        SELECT {network:String}, number, toFixedString(toString(number), 32), toDateTime(1600000000 + number, 'UTC'), number,
          {version:UInt64}, {isDeleted:UInt8}, 0
        FROM numbers({first:UInt64}, {count:UInt64})`,
      query_params: { network, first, count, version, isDeleted },
    })
  }

  const questions: [string, (client: ClickHouseClient, network: NetworkName) => Promise<unknown>][] = [
    ['its tip', (client, network) => newestBlock(client, network)],
    ['the tip that a listener asks for', (client, network) => storedChain(client, network).tip()],
    ['what a listener starts from', (client, network) => storedChain(client, network).below(150_000, 64)],
    ['what an aggregator holds of it', (client, network) => Ledger.load(client, network)],
    ['its first block', (client, network) => ledgerStart(client, network)],
    ['where the log is read on', (client, network) => positionAfterStored(client, network)],
    ['what an audit goes through', (client, network) => storedRanges(client, network, undefined, 150_000)],
  ]

  test.each(questions)('reads no more of a longer history for %s', async (_, question) => {
    const short = await rowsRead(database.client, (client) => question(client, SHORT))
    const long = await rowsRead(database.client, (client) => question(client, LONG))
    expect(short).toBeGreaterThan(0)
    expect(long).toBeLessThanOrEqual(Math.max(1.5 * short, READ_AHEAD_ROWS))
  })

  test('is found whole behind more tombstones than one look reads', async () => {
    const network = 'base'
    await storeBlocks(network, FIRST, 300_000)
    // All but the first 10 blocks, and all but the blocks 10 to 19, are taken back.
    await storeBlocks(network, FIRST, 10, 2, 1)
    await storeBlocks(network, FIRST + 20, 300_000 - 20, 2, 1)
    const tip = await newestBlock(database.client, network)
    expect(tip).toMatchObject({ number: FIRST + 19, timestamp: 1_600_000_000 + FIRST + 19, version: 1n })
    expect(await ledgerStart(database.client, network)).toEqual({ first: FIRST + 10, time: 1_600_000_000 + FIRST + 10 })
    const { below } = storedChain(database.client, network)
    expect((await below(FIRST + 300_000, 100)).map(({ number }) => number)).toEqual(
      Array.from({ length: 10 }, (_, index) => FIRST + 19 - index),
    )
    const [live] = await storedRanges(database.client, network, undefined, FIRST + 15)
    expect(live).toMatchObject({ job: 0, from: FIRST + 10, to: FIRST + 15 })
  })

  test('has neither tip nor first block where all of it is taken back', async () => {
    const network = 'optimism'
    expect(await newestBlock(database.client, network)).toBeUndefined()
    await storeBlocks(network, FIRST, 1_000)
    await storeBlocks(network, FIRST, 1_000, 2, 1)
    expect(await newestBlock(database.client, network)).toBeUndefined()
    expect(await ledgerStart(database.client, network)).toBeUndefined()
    expect(await storedRanges(database.client, network, undefined, 5_000)).toEqual([])
  })
})

/** Active parts of the fullest partition. */
async function partsOf(client: ClickHouseClient, table: string): Promise<number> {
  const query = `SELECT max(parts) AS parts FROM (SELECT count() AS parts FROM system.parts
    WHERE database = currentDatabase() AND table = {table:String} AND active GROUP BY partition)`
  const answer = await client.query({ query, query_params: { table }, format: 'JSONEachRow' })
  const [row] = await answer.json<{ parts: string }>()
  return Number(row?.parts)
}

/** As ClickHouse counts them, over all questions that `work` asks. */
async function rowsRead(client: ClickHouseClient, work: (client: ClickHouseClient) => Promise<unknown>) {
  let rows = 0
  const counting = intercepted(client, async (send, statement, [options]) => {
    if (statement !== 'query') throw new Error('It only reads.')
    const answer = await client.query({ ...(options as { query: string }), format: 'JSON' })
    rows += (await answer.json()).statistics?.rows_read ?? 0
    return send()
  })
  await work(counting)
  return rows
}
