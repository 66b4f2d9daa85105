/** Checkpoints, and when they are saved: what a power cut then does to the tables is in test/chaos/power-cut.int.test.ts. */
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openJob, readJob } from '../../../aggregator/jobs/job.ts'
import { type Disk, readCheckpoint, truncateToCheckpoint } from '../../../aggregator/ledger/checkpoint.ts'
import { storedChain } from '../../../aggregator/ledger/stored-blocks.ts'
import { inProcessLog } from '../../../infra/kafka/in-process.ts'
import type { RangeOverwrite } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { asBlocks, asRestatement, type Chain, fullBlocks, mine } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { until } from '../../support/until.ts'
import { tell } from '../listening.ts'
import { networkOf, startAggregator } from '../running.ts'
import { intercepted } from '../statements.ts'
import { MARKET_TABLES, tablesOf } from '../tables.ts'

const PLANS = fullBlocks(8, 21).map((plan) => ({ ...plan, secondsLater: 1 }))
const CHAIN = mine([], PLANS.slice(0, 6))
const OTHER = mine(CHAIN.slice(0, 3), PLANS.slice(6), 'other')
const heightOf = (chain: Chain) => chain.at(-1)?.number ?? 0

describe.skipIf(withoutClickHouse).concurrent('where writes are not synced one by one', () => {
  let database: TestDatabase
  let client: ClickHouseClient
  beforeAll(async () => {
    database = await freshDatabase()
    client = database.client
  })
  afterAll(() => database?.drop())

  /** Events in order: statements that write by their first words, and syncs. */
  function watching() {
    const seen: string[] = []
    return {
      seen,
      client: intercepted(client, async (send, statement, [options]) => {
        const { query } = options as { query: string }
        const what = /^(?:--.*\n)*(INSERT INTO \w+|ALTER TABLE \w+ ATTACH)/.exec(query)?.[1]
        if (statement !== 'query' && what)
          seen.push(/1 AS is_deleted/.test(query) ? what.replace('INSERT INTO', 'BURY') : what)
        return send()
      }),
      disk: { everyMs: 10, sync: async () => void seen.push('sync') } satisfies Disk,
    }
  }

  const settledOf = async (network: NetworkName) => (await readCheckpoint(client, network))?.number

  /** Its first three blocks are settled, and nothing after them while the disk is full. */
  async function settledAtThree(network: NetworkName) {
    const full = { is: false }
    const sync = async () => {
      if (full.is) throw new Error('The disk is full.')
    }
    const disk: Disk = { sync, everyMs: 10 }
    const aggregator = await startAggregator(client, { network, disk })
    await aggregator.append(asBlocks(network, CHAIN.slice(0, 3)))
    await until(async () => (await settledOf(network)) === heightOf(CHAIN.slice(0, 3)) || undefined, 'it is noted')
    full.is = true
    return { aggregator, full, disk }
  }

  async function expectClean(network: NetworkName, chain: Chain): Promise<void> {
    const clean = networkOf(`${network} clean`)
    const aggregator = await startAggregator(client, { network: clean })
    await aggregator.append(asBlocks(clean, chain))
    await aggregator.stop()
    const tables = await tablesOf(client)
    for (const table of MARKET_TABLES) expect(tables(network)[table], table).toStrictEqual(tables(clean)[table])
  }

  test('stored blocks are synced and noted a while later, all of them at a clean end', async () => {
    const network = networkOf('settles')
    const { disk } = watching()
    const aggregator = await startAggregator(client, { network, disk })
    expect(await settledOf(network)).toBe(-1)
    await aggregator.append(asBlocks(network, CHAIN.slice(0, 2)))
    await until(async () => (await settledOf(network)) === heightOf(CHAIN.slice(0, 2)) || undefined, 'it is noted')
    await aggregator.stop()
    const slow = await startAggregator(client, { network, disk: { ...disk, everyMs: 3_600_000 } })
    await slow.append(asBlocks(network, CHAIN.slice(2)))
    expect(await settledOf(network)).toBe(heightOf(CHAIN.slice(0, 2)))
    await slow.stop()
    expect(await settledOf(network)).toBe(heightOf(CHAIN))
    await truncateToCheckpoint(client, network)
    expect((await storedChain(client, network).tip())?.number).toBe(heightOf(CHAIN))
  })

  test('a start goes back to what was noted, and the chain is told again', async () => {
    const network = networkOf('goes back')
    const { aggregator, full, disk } = await settledAtThree(network)
    await aggregator.append(asBlocks(network, CHAIN.slice(3)))
    await aggregator.stop()
    expect(aggregator.facts.some(({ kind }) => kind === 'store-failed')).toBe(true)
    expect((await storedChain(client, network).tip())?.number).toBe(heightOf(CHAIN))

    await truncateToCheckpoint(client, network)
    expect((await storedChain(client, network).tip())?.number).toBe(heightOf(CHAIN.slice(0, 3)))
    full.is = false
    const next = await startAggregator(client, { network, disk })
    await expectClean(network, CHAIN.slice(0, 3))
    await tell(client, next, { network, chain: OTHER })
    await next.stop()
    await expectClean(network, OTHER)
  })

  test('a start goes back whatever part of the ledger is left above what was noted', async () => {
    const network = networkOf('holes')
    const { aggregator, full, disk } = await settledAtThree(network)
    await aggregator.append(asBlocks(network, CHAIN.slice(3)))
    const kept = `${network} kept`
    const above = 'network = {network:String} AND number > {settled:UInt64}'
    const copy = `INSERT INTO blocks SELECT * REPLACE ({to:String} AS network)
      FROM (SELECT * FROM blocks WHERE network = {from:String})`
    await client.command({ query: copy, query_params: { from: network, to: kept } })
    await aggregator.append(asBlocks(network, OTHER.slice(3)))
    await aggregator.stop()
    // Left are the older branch and the first block of the newer one: what took the older one back is lost, and so is the tip.
    await client.command({
      query: `DELETE FROM blocks WHERE ${above} AND (is_deleted OR hash != unhex({first:String}))`,
      query_params: { network, settled: CHAIN[2]?.number, first: OTHER[3]?.hash.slice(2) },
    })
    await client.command({ query: copy, query_params: { from: kept, to: network } })

    await truncateToCheckpoint(client, network)
    expect((await storedChain(client, network).tip())?.number).toBe(heightOf(CHAIN.slice(0, 3)))
    full.is = false
    const next = await startAggregator(client, { network, disk })
    await expectClean(network, CHAIN.slice(0, 3))
    await tell(client, next, { network, chain: CHAIN })
    await next.stop()
    await expectClean(network, CHAIN)
  })

  test('candles that were written since are recomputed, though nothing else is left of their flush', async () => {
    const network = networkOf('phantoms')
    const { disk } = watching()
    const aggregator = await startAggregator(client, { network, disk })
    await aggregator.append(asBlocks(network, CHAIN))
    await aggregator.stop()
    // What a power cut may leave: a day's candle, but neither its seconds' nor its ticks.
    await client.command({
      query: `INSERT INTO candles SELECT * REPLACE (trades + 1 AS trades, (SELECT max(version) + 1 FROM settled WHERE network = {network:String}) AS version)
        FROM candles FINAL WHERE network = {network:String} AND resolution = 86400`,
      query_params: { network },
    })
    const next = await startAggregator(client, { network, disk })
    await expectClean(network, CHAIN)
    await next.stop()
  })

  test('a lower checkpoint is noted before blocks below the checkpoint are taken back', async () => {
    const network = networkOf('falls')
    const { client: watched, disk, seen } = watching()
    const aggregator = await startAggregator(watched, { network, disk })
    await aggregator.append(asBlocks(network, CHAIN))
    await until(async () => (await settledOf(network)) === heightOf(CHAIN) || undefined, 'it is noted')
    seen.length = 0
    await aggregator.append(asBlocks(network, OTHER.slice(3)))
    await aggregator.stop()
    expect(seen.slice(0, 3)).toEqual(['sync', 'INSERT INTO settled', 'BURY blocks'])
  })

  test('the disk is synced before a range counts as covered, and before candles take the place of others', async () => {
    const network = networkOf('vouches')
    const { client: watched, disk, seen } = watching()
    const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
    const slow = { ...disk, everyMs: 3_600_000 }
    const aggregator = await startAggregator(watched, { network, history, shards: [watched], disk: slow })
    await aggregator.append(asBlocks(network, CHAIN))
    await history.append([asRestatement(network, CHAIN.slice(0, 2), { job: 1 })])
    const covered = seen.indexOf('INSERT INTO coverage')
    expect(seen.slice(covered - 1, covered)).toEqual(['sync'])
    const request = { network, from: 0, to: 2 ** 32 - 1, pools: undefined, concurrency: 1 }
    const { id } = await openJob(client, request, 'rebuild')
    await until(async () => (await readJob(client, network, id))?.state === 'done' || undefined, 'it is rebuilt')
    const swapped = seen.indexOf('ALTER TABLE candles ATTACH')
    expect(seen.slice(swapped - 2, swapped)).toEqual(['sync', 'INSERT INTO settled'])
    expect(seen.slice(swapped + 1, swapped + 4)).toEqual(['INSERT INTO changes', 'sync', 'INSERT INTO jobs'])
    await aggregator.stop()
    await history.close()
  })

  test('a start goes back to nothing where every write is synced', async () => {
    const network = networkOf('for good')
    const { disk } = watching()
    const settling = await startAggregator(client, { network, disk: { ...disk, everyMs: 3_600_000 } })
    await settling.append(asBlocks(network, CHAIN.slice(0, 2)))
    await settling.stop()
    const synced = await startAggregator(client, { network })
    await synced.append(asBlocks(network, CHAIN.slice(2)))
    await synced.stop()
    expect(await readCheckpoint(client, network)).toBeUndefined()
    await truncateToCheckpoint(client, network)
    await expectClean(network, CHAIN)
  })
})
