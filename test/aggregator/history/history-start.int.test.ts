/** History that jobs have stored: a start reads no more of much than of little, and live blocks are stored between the turns of a job. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inProcessLog } from '../../../infra/kafka/in-process.ts'
import type { RangeOverwrite } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { asBlocks, asRestatement, type Chain, fullBlocks, mine } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { networkOf, startAggregator } from '../running.ts'
import { counted, intercepted } from '../statements.ts'

const PLANS = fullBlocks(60, 4).map((plan) => ({ ...plan, secondsLater: 600 }))
const SHORT = mine([], PLANS)
const TICKS = SHORT.reduce((sum, { ticks }) => sum + ticks.length, 0)
/** Rows of a stated history, copied over so many days. */
const COPIES = { short: 100, long: 1_000 }

describe.skipIf(withoutClickHouse)('beside history that jobs have stored', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  async function state(network: NetworkName, chain: Chain): Promise<void> {
    const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
    const running = await startAggregator(database.client, { network, history })
    await history.append([asRestatement(network, chain, { job: 1 })])
    await history.close()
    await running.stop()
  }

  async function countTicks(network: NetworkName): Promise<number> {
    const query = `SELECT toFloat64(count()) AS ticks FROM ticks WHERE network = '${network}'`
    const [stored] = await (await database.client.query({ query, format: 'JSONEachRow' })).json<{ ticks: number }>()
    return stored?.ticks ?? 0
  }

  test('neither a start nor a restatement reads more beside ten times as much', async () => {
    const rows: number[] = []
    const restated: number[] = []
    for (const [name, copies] of Object.entries(COPIES)) {
      const network = networkOf(name)
      const stated = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
      await state(network, SHORT)
      const days = `ARRAY JOIN range(1, ${copies}) AS day`
      for (const [table, moved] of [
        ['ticks', 'block + 100000 * day AS block, time + 86400 * day AS time'],
        ['candles', 'time + 86400 * day AS time'],
        [
          'coverage',
          'first + 100000 * day AS first, last + 100000 * day AS last, last_time + 86400 * day AS last_time',
        ],
      ]) {
        const copy = `INSERT INTO ${table} SELECT * REPLACE (${moved}) FROM (SELECT * FROM ${table} WHERE network = '${name}') ${days}`
        await database.client.command({ query: copy })
        await database.client.command({ query: `OPTIMIZE TABLE ${table} FINAL` })
      }
      expect(await countTicks(network)).toBe(copies * TICKS)
      const counting = counted(database.client)
      const running = await startAggregator(counting.client, { network })
      await running.stop()
      rows.push(counting.rowsRead())
      const restating = counted(database.client)
      const again = await startAggregator(restating.client, { network, history: stated })
      const started = restating.rowsRead()
      await stated.append([asRestatement(network, SHORT, { job: 2 })])
      await stated.close()
      await again.stop()
      restated.push(restating.rowsRead() - started)
    }
    const [short = 0, long = 0] = rows
    // A row of coverage for each stretch that was stated is read, and read again for the newest.
    expect(long - short).toBeLessThan(6 * (COPIES.long - COPIES.short))
    const [beside = 0, besideMore = 0] = restated
    expect(besideMore).toBeLessThan(1.5 * beside)
  })

  test('a live block is stored between two statements of a restatement, each of which has few pools', async () => {
    const network = networkOf('between')
    const chain = mine([], PLANS.slice(0, 40))
    const sent: string[] = []
    const client = intercepted(database.client, async (send, _, [options]) => {
      const { query, query_params } = options as { query: string; query_params?: { pools?: unknown[] } }
      sent.push(query)
      if (/candles$|candles AS|INTO candles|into:Identifier/.test(query))
        expect(query_params?.pools?.length ?? 0).toBeLessThanOrEqual(50)
      return send()
    })
    const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
    const running = await startAggregator(client, { network, history })
    await running.append(asBlocks(network, chain.slice(0, 39)))
    sent.length = 0
    const stated = history.append([asRestatement(network, chain.slice(0, 30), { job: 1 })])
    await running.append(asBlocks(network, chain.slice(39)))
    const after = sent.length
    await stated
    // The restatement was not done when the block was stored.
    expect(sent.slice(after).some((query) => query.startsWith('INSERT INTO coverage'))).toBe(true)
    await history.close()
    await running.stop()
  })
})
