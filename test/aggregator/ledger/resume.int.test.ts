import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AggregatorFact } from '../../../aggregator/ledger/fact.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { type ArrayLog, arrayLog } from '../../support/array-log.ts'
import { asBlocks, asRange, type Chain, fullBlocks, mine, newTo } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { tell } from '../listening.ts'
import { networkOf, startAggregator } from '../running.ts'
import { watched } from '../statements.ts'
import { copyNetwork, type Tables, tablesOf } from '../tables.ts'

const PLANS = fullBlocks(12, 6)
const BASE = mine([], PLANS.slice(0, 3))
const A = mine(BASE, PLANS.slice(3, 5), 'a')
const B = mine(BASE, PLANS.slice(5, 7), 'b')

describe.skipIf(withoutClickHouse).concurrent('the position where an aggregator resumes', () => {
  let database: TestDatabase
  let networks = 0
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  const another = () => networkOf(`network ${++networks}`)

  /** A process from its start to its end: where it resumed, and what it reports. */
  async function run(network: NetworkName, chain: Chain, log?: ArrayLog) {
    const aggregator = await startAggregator(database.client, { network, log })
    await tell(database.client, aggregator, { network, chain, log })
    expect(await aggregator.stop()).toBeUndefined()
    const [first] = aggregator.facts
    return { kinds: aggregator.facts.map(({ kind }) => kind), ...startOf(first) }
  }
  const tablesNow = async (network: NetworkName): Promise<Tables> => (await tablesOf(database.client))(network)
  async function cleanRun(chain: Chain): Promise<Tables> {
    const network = another()
    await run(network, chain)
    return tablesNow(network)
  }

  test('an in-process log is read from above everything that is stored', async () => {
    const network = another()
    expect(await run(network, BASE)).toMatchObject({ generation: 0, offset: 0 })
    expect(await run(network, A)).toMatchObject({ generation: 0, offset: 3 })
    expect(await run(network, B)).toMatchObject({ generation: 0, offset: 5 })
    expect(await run(network, B)).toMatchObject({ generation: 0, offset: 7, kinds: ['aggregator-started'] })
  })

  test('a log that keeps its messages is read from the last one that is stored, which changes nothing', async () => {
    const network = another()
    const log = arrayLog()
    expect(await run(network, BASE, log)).toMatchObject({ generation: 0, offset: 0 })
    expect(await run(network, A, log)).toMatchObject({ generation: 0, offset: 2 })
    expect(await run(network, B, log)).toMatchObject({ generation: 0, offset: 4 })
    expect(await run(network, B, log)).toMatchObject({ generation: 0, offset: 6, kinds: ['aggregator-started'] })
  })

  test('an empty store says from which block on it is filled, where the log no longer begins with its first message', async () => {
    const [late, whole] = [another(), another()]
    const [, second] = BASE
    const aggregator = await startAggregator(database.client, { network: late })
    await aggregator.append(asBlocks(late, BASE.slice(1)))
    await aggregator.stop()
    expect(aggregator.facts.filter(({ kind }) => kind === 'begins-late')).toEqual([
      {
        kind: 'begins-late',
        network: late,
        first: second?.number,
        command: `npm run backfill -- --network ${late} --from-block BLOCK --to-block ${(second?.number ?? 0) - 1}`,
      },
    ])
    const from = await startAggregator(database.client, { network: whole })
    await from.append([{ ...asRange(whole, BASE), parentHash: undefined }])
    await from.stop()
    expect(from.facts.map(({ kind }) => kind)).not.toContain('begins-late')
  })

  test('every start has an epoch above the last, so that its candles count', async () => {
    const network = another()
    for (const epoch of [1n, 2n, 3n]) expect(await run(network, BASE)).toMatchObject({ epoch })
  })

  test('a recreated log is read from its beginning, in the next generation', async () => {
    for (const [chain, kinds] of [
      [mine(A, PLANS.slice(7, 8)), ['aggregator-started', 'flushed']],
      [B, ['aggregator-started', 'rolled-back', 'flushed']],
    ] as const) {
      const network = another()
      await run(network, A, arrayLog())
      expect(await run(network, chain, arrayLog())).toMatchObject({ generation: 1, offset: 0, kinds })
      expect(await tablesNow(network)).toStrictEqual(await cleanRun(chain))
    }
  })

  test('a recreated log with the whole chain in it, or another one, gives the rows of its messages', async () => {
    for (const chain of [A, B]) {
      const network = another()
      await run(network, A, arrayLog())
      // The same number of messages, but none at its old place.
      const log = arrayLog(asBlocks(network, [...chain.slice(0, 1), ...chain]))
      expect(await run(network, chain, log)).toMatchObject({ generation: 1, offset: 0 })
      expect(await tablesNow(network)).toStrictEqual(await cleanRun(chain))
    }
  })

  test('a change from an in-process log to one that keeps its messages, and back, leaves the rows of a clean run', async () => {
    const network = another()
    await run(network, BASE)
    const log = arrayLog()
    expect(await run(network, A, log)).toMatchObject({ generation: 1, offset: 0 })
    expect(await run(network, B)).toMatchObject({ generation: 1, offset: 2 })
    expect(await run(network, A, log)).toMatchObject({ generation: 2, offset: 0 })
    expect(await tablesNow(network)).toStrictEqual(await cleanRun(A))
  })

  // Where only the last moment before the ledger grows is looked at, that one says it all.
  test.each([
    { what: 'over blocks, with a crash at any moment between,', before: BASE, again: [], moments: [0] },
    { what: 'over nothing, with a crash between,', before: [], again: [], moments: [-2, -1] },
    { what: 'and then looks like the first one', before: BASE, again: BASE, moments: [-2, -1] },
  ])('a log that is recreated twice $what leaves the rows of a clean run', async ({ before, again, moments }) => {
    const network = another()
    await run(network, before, arrayLog())
    const remains: NetworkName[] = []
    let isWatching = false
    const keep = async () => {
      if (!isWatching) return
      remains.push(another())
      await copyNetwork(database.client, network, remains.slice(-1))
    }
    const aggregator = await startAggregator(watched(database.client, keep), { network, log: arrayLog() })
    isWatching = true
    await aggregator.append(asBlocks(network, newTo(before, A)))
    await keep()
    await aggregator.stop()
    expect(remains.length).toBeGreaterThanOrEqual(7)
    const left = [...remains.entries()].slice(...moments)
    await Promise.all(left.map(([, copy]) => run(copy, B, arrayLog(asBlocks(copy, again)))))
    const clean = await cleanRun(B)
    const tables = await tablesOf(database.client)
    for (const [writes, copy] of left) {
      expect({ writes, ...tables(copy) }).toStrictEqual({ writes, ...clean })
    }
  })
})

function startOf(fact: AggregatorFact | undefined) {
  if (fact?.kind !== 'aggregator-started') throw new Error('An aggregator says first that it has started.')
  return { generation: fact.generation, offset: fact.offset, epoch: fact.epoch }
}
