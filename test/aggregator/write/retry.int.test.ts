import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asBlocks, type Chain, fullBlocks, mine } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { drawn } from '../../support/sample.ts'
import { networkOf, startAggregator } from '../running.ts'
import { flaky } from '../statements.ts'
import { MARKET_TABLES, type Tables, tablesOf } from '../tables.ts'

const PLANS = fullBlocks(3, 7)
const BASE = mine([], PLANS.slice(0, 1))
const A = mine(BASE, PLANS.slice(1, 2), 'a')
const B = mine(BASE, PLANS.slice(2, 3), 'b')

describe.skipIf(withoutClickHouse).concurrent('a statement whose answer is lost', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  async function cleanRun(name: string, chain: Chain): Promise<Tables> {
    const network = networkOf(name)
    const aggregator = await startAggregator(database.client, { network })
    await aggregator.append(asBlocks(network, chain))
    await aggregator.stop()
    return (await tablesOf(database.client))(network)
  }

  // Two at a time, since each waits a while before it tries again.
  test.each(drawn('lost answers', [1, 2], 1))(
    'is reported, and its flush or rollback is done again and leaves nothing behind: every other from %s on',
    async (first) => {
      const clean = { a: await cleanRun(`a ${first}`, A), b: await cleanRun(`b ${first}`, B) }
      const network = networkOf(`flips ${first}`)
      const { client, loseAnswer, wasLost } = flaky(database.client)
      const aggregator = await startAggregator(client, { network })
      await aggregator.append(asBlocks(network, A))
      let isB = false
      let reports = 0
      // The chain flips to and fro, and every time a later statement fails.
      for (let at = first; ; at += 2) {
        aggregator.facts.length = 0
        isB = !isB
        loseAnswer(at)
        await aggregator.append(asBlocks(network, (isB ? B : A).slice(1)))
        const tables = (await tablesOf(database.client))(network)
        for (const table of MARKET_TABLES) {
          expect(tables[table], `${table} after statement ${at} failed`).toStrictEqual((isB ? clean.b : clean.a)[table])
        }
        // At times the lost answer is that of the rebuild worker's poll, which is not reported.
        if (aggregator.facts.some(({ kind }) => kind === 'store-failed')) reports++
        if (wasLost()) continue
        expect(reports).toBeGreaterThan(8)
        break
      }
      expect(await aggregator.stop()).toBeUndefined()
    },
  )
})
