import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asBlocks, fullBlocks, mine } from '../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { networkOf, startAggregator } from './running.ts'
import { flaky, LOSSES } from './statements.ts'
import { MARKET_TABLES, type Tables, tablesOf } from './tables.ts'

const PLANS = fullBlocks(3, 7)
const BASE = mine([], PLANS.slice(0, 1))
const A = mine(BASE, PLANS.slice(1, 2), 'a')
const B = mine(BASE, PLANS.slice(2, 3), 'b')

describe
  .skipIf(withoutClickHouse)
  .concurrent('a statement that fails is made again, is reported, and leaves nothing behind', () => {
    let database: TestDatabase
    beforeAll(async () => {
      database = await freshDatabase()
    })
    afterAll(() => database?.drop())

    test.each(LOSSES)('in a rollback and in the flush behind it: %s', async (loss) => {
      const clean: Tables[] = []
      for (const chain of [A, B]) {
        const network = networkOf(`clean ${loss} ${clean.length}`)
        const aggregator = await startAggregator(database.client, { network })
        await aggregator.append(asBlocks(network, chain))
        await aggregator.stop()
        clean.push((await tablesOf(database.client))(network))
      }
      const network = networkOf(loss)
      const { client, lose } = flaky(database.client)
      const aggregator = await startAggregator(client, { network })
      await aggregator.append(asBlocks(network, A))
      // The chain flips to and fro, and every time the next statement fails.
      for (let at = 1; ; at++) {
        aggregator.facts.length = 0
        lose(at, loss)
        const [chain, expected] = at % 2 === 0 ? [A, clean[0]] : [B, clean[1]]
        await aggregator.append(asBlocks(network, chain.slice(1)))
        const tables = (await tablesOf(database.client))(network)
        for (const table of MARKET_TABLES) {
          expect(tables[table], `${table} after statement ${at} failed`).toStrictEqual(expected?.[table])
        }
        const kinds = aggregator.facts.map(({ kind }) => kind).filter((kind) => kind === 'store-failed')
        if (kinds.length === 0) {
          expect(at).toBeGreaterThan(18)
          break
        }
        expect(kinds).toHaveLength(1)
      }
      expect(await aggregator.stop()).toBeUndefined()
    })
  })
