import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { asBlocks, asRange, type Chain, fullBlocks, mine, steps, tellings } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { sample } from '../../support/sample.ts'
import { seededOnServers } from '../../support/seed.ts'
import { candleKey, foldedCandles, storedCandles } from '../candles.ts'
import { networkOf, startAggregator } from '../running.ts'

/** Histories that are told side by side, each on a network of its own. */
const AT_ONCE = 4

describe.skipIf(withoutClickHouse)('candles', () => {
  let database: TestDatabase
  const told: { network: NetworkName; chain: Chain }[] = []
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  async function expectFolded(network: NetworkName, chain: Chain): Promise<void> {
    const { shown } = await storedCandles(database.client, network)
    expect(shown).toStrictEqual(foldedCandles(chain))
  }

  test('candles are the fold of the chain’s ticks to the bit after every append: blocks or ranges, forks of any depth, other times', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (histories) => {
        await Promise.all(
          histories.map(async (history) => {
            const network = networkOf(`history ${told.length}`)
            const entry: (typeof told)[number] = { network, chain: [] }
            told.push(entry)
            const aggregator = await startAggregator(database.client, { network })
            for (const { messages, chain } of tellings(network, history)) {
              await aggregator.append(messages)
              await expectFolded(network, chain)
              entry.chain = chain
            }
            expect(await aggregator.stop()).toBeUndefined()
            expect(aggregator.facts.map(({ kind }) => kind)).not.toContain('stalled')
          }),
        )
      }),
      seededOnServers({ numRuns: sample('RUNS', 2, 4) }),
    )
  })

  test('merges of the tables’ parts change nothing', async () => {
    for (const table of ['ticks', 'candles']) await database.client.command({ query: `OPTIMIZE TABLE ${table} FINAL` })
    expect(told.length).toBeGreaterThan(0)
    for (const { network, chain } of told) await expectFolded(network, chain)
  })

  test('a bucket that lost all its ticks has no trades and is not shown', async () => {
    const network = networkOf('a bucket lost')
    const [first, second] = fullBlocks(2, 1)
    if (!first || !second) throw new Error('unreachable')
    const start = mine([], [first])
    const orphaned = mine(start, [{ ...second, secondsLater: 7 }], 'orphaned')
    const replaced = mine(start, [{ ...second, ticks: [], secondsLater: 3_600 }])
    const aggregator = await startAggregator(database.client, { network })
    await aggregator.append(asBlocks(network, orphaned))
    await aggregator.append(asBlocks(network, replaced.slice(1)))
    await aggregator.stop()
    await expectFolded(network, replaced)
    const { empty } = await storedCandles(database.client, network)
    const lost = new Set(second.ticks.map(({ pool }) => candleKey(pool, 1, orphaned[1]?.timestamp ?? 0)))
    expect(lost.size).toBeGreaterThan(0)
    expect(new Set(empty.filter((key) => key.includes(' 1 ')))).toStrictEqual(lost)
  })

  test('one large append gives the bits that many small ones give', async () => {
    const plans = fullBlocks(60, 2)
    const chain = mine([], plans)
    const [large, small, range] = ['large', 'small', 'range'].map(networkOf)
    if (!large || !small || !range) throw new Error('unreachable')
    const aggregators = await Promise.all(
      [large, small, range].map((network) => startAggregator(database.client, { network })),
    )
    const [asOne, asMany, asHistory] = aggregators
    await Promise.all([
      asOne?.append(asBlocks(large, chain)),
      (async () => {
        for (let start = 0; start < chain.length; start += 7) {
          await asMany?.append(asBlocks(small, chain.slice(start, start + 7)))
        }
      })(),
      asHistory?.append([asRange(range, chain)]),
    ])
    for (const aggregator of aggregators) await aggregator.stop()
    for (const network of [large, small, range]) await expectFolded(network, chain)
  })
})
