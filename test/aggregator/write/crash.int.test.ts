import type { ClickHouseClient } from '@clickhouse/client'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { type ArrayLog, arrayLog } from '../../support/array-log.ts'
import { asBlocks, type Chain, fullBlocks, mine, newTo, type Step, steps, tellings } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { sample } from '../../support/sample.ts'
import { seededOnServers } from '../../support/seed.ts'
import { tell } from '../listening.ts'
import { networkOf, type Running, startAggregator } from '../running.ts'
import { Died, losing, mortal, watched } from '../statements.ts'
import { copyNetwork, MARKET_TABLES, tablesOf } from '../tables.ts'

const PLANS = fullBlocks(10, 5)
const BASE = mine([], PLANS.slice(0, 2))
const A = mine(BASE, PLANS.slice(2, 4), 'a')
const B = mine(BASE, PLANS.slice(4, 6), 'b')
/** Shorter than both, and all that is in it happened at other times. */
const C = mine(BASE, PLANS.slice(6, 7), 'c')
const A_CONTINUES = mine(A, PLANS.slice(7, 8))
const B_CONTINUES = mine(B, PLANS.slice(8, 9))

const AT_ONCE = 6
/** Each case dies before every write of so many; the cases of the check begin at different ones, so that together they leave none out. */
const STRIDE = sample('STRIDE', 5, 1)
/** In place of a number of writes. */
const TICKS_LOST = -1
const LOGS = ['in one process', 'over a log that keeps its messages'] as const

type Scenario = {
  name: string
  /** Stored when the process starts that will die. */
  before: Chain
  /** Told to it at once. */
  told: Chain
}

const FLUSH: Scenario = { name: 'flush', before: BASE, told: A }
const ROLLBACK: Scenario = { name: 'rollback', before: A, told: B }
const [ONE_PROCESS, KEPT] = LOGS

/** `after` is what the chain is when the next process starts. */
const CASES = [
  { scenario: FLUSH, turn: 'the chain continues', after: A_CONTINUES, log: ONE_PROCESS },
  { scenario: FLUSH, turn: 'the chain continues', after: A_CONTINUES, log: KEPT },
  { scenario: FLUSH, turn: 'the log is cut off, and the chain then takes another branch', after: C, log: ONE_PROCESS },
  { scenario: FLUSH, turn: 'the chain then takes another branch', after: C, log: KEPT },
  { scenario: ROLLBACK, turn: 'the chain continues', after: B_CONTINUES, log: ONE_PROCESS },
  { scenario: ROLLBACK, turn: 'the chain continues', after: B_CONTINUES, log: KEPT },
  { scenario: ROLLBACK, turn: 'the old branch comes back', after: A_CONTINUES, log: ONE_PROCESS },
  { scenario: ROLLBACK, turn: 'the old branch comes back', after: A_CONTINUES, log: KEPT },
].map((one, index) => ({ ...one, index, name: one.scenario.name }))

describe.skipIf(withoutClickHouse)('a crash between any two statements leaves the rows of a clean run', () => {
  let database: TestDatabase
  let client: ClickHouseClient
  let networks = 0
  /** By case and number of writes: what is left then, under a name of its own. */
  const remains = CASES.map(() => new Map<number, NetworkName>())

  const another = () => networkOf(`network ${++networks}`)

  async function run(network: NetworkName, chain: Chain, log?: ArrayLog): Promise<void> {
    const aggregator = await startAggregator(client, { network, log })
    await tell(client, aggregator, { network, chain, log })
    expect(await aggregator.stop()).toBeUndefined()
  }

  /** One process does it all; before each of its writes, and at its end, the tables are what its death would leave. */
  async function keepRemains(scenario: Scenario): Promise<void> {
    const network = another()
    await run(network, scenario.before)
    let writes = -1
    const keep = async () => {
      if (writes < 0) return
      // In the flush that ends a rollback the cases take turns: most of what can happen there happens in any flush.
      const isRolledBack = aggregator.facts.some(({ kind }) => kind === 'rolled-back')
      const names: NetworkName[] = []
      for (const one of CASES) {
        if (one.scenario !== scenario || (isRolledBack && (writes + one.index) % 2 === 1)) continue
        if ((writes + one.index) % STRIDE !== 0) continue
        const name = another()
        remains[one.index]?.set(writes, name)
        names.push(name)
      }
      writes += 1
      await copyNetwork(client, network, names)
    }
    const aggregator = await startAggregator(watched(client, keep), { network })
    writes = 0
    await aggregator.append(asBlocks(network, newTo(scenario.before, scenario.told)))
    await keep()
    await aggregator.stop()
  }

  /** Candles that memory knows whole set out beside their ticks: what is left where only they arrive. */
  async function loseTicks({ scenario: { before, told }, index }: (typeof CASES)[number]): Promise<void> {
    const network = another()
    const process = losing(client)
    const aggregator = await startAggregator(process.client, { network, death: process.death })
    await aggregator.append(asBlocks(network, before))
    process.lose('ticks', 'candles')
    await expect(aggregator.append(asBlocks(network, newTo(before, told)))).rejects.toThrow('ended before it stored')
    await aggregator.stop()
    expect(await lastTime('candles', network)).toBeGreaterThan(await lastTime('ticks', network))
    remains[index]?.set(TICKS_LOST, network)
  }

  async function lastTime(table: string, network: NetworkName): Promise<number> {
    const query = `SELECT toUnixTimestamp(max(time)) AS last FROM ${table} WHERE network = '${network}'`
    const answer = await client.query({ query, format: 'JSONEachRow' })
    const [row] = await answer.json<{ last: number }>()
    return row?.last ?? 0
  }

  beforeAll(async () => {
    database = await freshDatabase()
    client = database.client
    await Promise.all([FLUSH, ROLLBACK].map(keepRemains))
    await allOf(
      CASES.filter(({ scenario }) => scenario === FLUSH),
      loseTicks,
    )
  })
  afterAll(() => database?.drop())

  test.each(CASES)('a process that dies in a $name leaves the rows of a clean run: $turn, $log', async (one) => {
    const { before, told } = one.scenario
    const clean = another()
    await run(clean, one.after)
    const left = [...(remains[one.index] ?? [])]
    expect(left.length).toBeGreaterThanOrEqual(Math.floor(10 / STRIDE))
    await allOf(left, ([, network]) => {
      const messages = asBlocks(network, [...before, ...newTo(before, told)])
      return run(network, one.after, one.log === ONE_PROCESS ? undefined : arrayLog(messages))
    })
    const tables = await tablesOf(client)
    for (const [writes, network] of left) {
      for (const table of MARKET_TABLES) {
        expect(tables(network)[table], `${table} after ${writes} writes`).toStrictEqual(tables(clean)[table])
      }
    }
  })
})

describe.skipIf(withoutClickHouse)('a process that dies again and again', () => {
  let database: TestDatabase
  let networks = 0
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  /** Statements that each life lasts, start-up included. */
  const lives = fc.array(fc.nat(45), { minLength: 1, maxLength: 4 })
  const history = fc.record({ steps, lives, log: fc.constantFrom(...LOGS) })

  test('leaves the rows of a clean run, whatever it was told between', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(history, { minLength: 4, maxLength: 4 }), async (histories) => {
        await Promise.all(histories.map(({ steps, lives, log }) => live(networkOf(`${++networks}`), steps, lives, log)))
      }),
      seededOnServers({ numRuns: sample('RUNS', 1, 2) }),
    )
  })

  async function live(
    network: NetworkName,
    steps: readonly Step[],
    lives: readonly number[],
    kind: (typeof LOGS)[number],
  ) {
    const log = kind === ONE_PROCESS ? undefined : arrayLog()
    const left = [...lives]
    const told = tellings(network, steps)
    let process = mortal(database.client, left.shift() ?? Number.POSITIVE_INFINITY)
    let aggregator: Running | undefined
    for (const { messages, chain } of told) {
      for (let isTold = false; !isTold; ) {
        try {
          if (aggregator) await aggregator.append(messages)
          else {
            aggregator = await startAggregator(process.client, { network, log, death: process.death })
            await tell(database.client, aggregator, { network, chain, log })
          }
          isTold = true
        } catch (error) {
          if (!process.death.aborted) throw error
          expect(await aggregator?.stop()).toSatisfy((failure) => failure === undefined || failure instanceof Died)
          aggregator = undefined
          process = mortal(database.client, left.shift() ?? Number.POSITIVE_INFINITY)
        }
      }
    }
    await aggregator?.stop()
    const clean = networkOf(`clean ${network}`)
    const chain = told.at(-1)?.chain ?? []
    const first = await startAggregator(database.client, { network: clean })
    await first.append(asBlocks(clean, chain))
    await first.stop()
    const tables = await tablesOf(database.client)
    // Ranges leave fewer blocks, and after a crash the listener tells a range as blocks: the tip says what matters.
    const { blocks, ...rest } = tables(network)
    const { blocks: cleanBlocks, ...cleanRest } = tables(clean)
    expect(rest).toStrictEqual(cleanRest)
    expect(numberAndHash(blocks.at(-1))).toStrictEqual(numberAndHash(cleanBlocks.at(-1)))
  }
})

function numberAndHash(row = '{}'): unknown {
  const { number, hash } = JSON.parse(row) as Record<string, string>
  return { number, hash }
}

/** `task` on all of these, some at a time. */
async function allOf<T>(items: readonly T[], task: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items]
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await task(next)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}
