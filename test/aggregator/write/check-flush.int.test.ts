/** A flush that breaks a rule ends the aggregator with one sentence, and the ledger has none of it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storedChain } from '../../../aggregator/ledger/stored-blocks.ts'
import { asBlocks, fullBlocks, mine } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { networkOf, startAggregator } from '../running.ts'
import { tablesOf } from '../tables.ts'

describe.skipIf(withoutClickHouse)('a broken rule', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  test('halts before the ledger has the block, and a start removes its rows', async () => {
    const network = networkOf('ethereum')
    const chain = mine([], fullBlocks(8, 21))
    const aggregator = await startAggregator(database.client, { network })
    await aggregator.append(asBlocks(network, chain.slice(0, 5)))
    const before = (await tablesOf(database.client))(network)
    const [wrong, ...rest] = asBlocks(network, chain.slice(5))
    if (!wrong) throw new Error('There is a sixth block.')
    let looks = 0
    const doubled = {
      ...wrong,
      // As a bug of this process would have it: valid when it is validated, and not afterwards.
      get ticks() {
        return looks++ === 0 ? wrong.ticks : [...wrong.ticks, ...wrong.ticks]
      },
    }
    await expect(aggregator.append([doubled, ...rest])).rejects.toThrow()
    expect(await aggregator.stop()).toMatchObject({
      ...{ name: 'BrokenInvariant', retryable: false },
      message: expect.stringMatching(
        /^Block 105 of ethereum breaks the rule that log indexes grow: log \d+ comes after log \d+\./,
      ),
    })
    expect(aggregator.facts.filter(({ kind }) => kind === 'store-failed')).toEqual([])
    expect((await storedChain(database.client, network).tip())?.number).toBe(104)
    const again = await startAggregator(database.client, { network })
    expect((await tablesOf(database.client))(network)).toEqual(before)
    await again.append([wrong, ...rest])
    expect((await storedChain(database.client, network).tip())?.number).toBe(107)
    await again.stop()
  })
})
