import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { NetworkName } from '../../ingest/network.ts'
import { type ArrayLog, arrayLog } from '../support/array-log.ts'
import { asBlocks, type Chain, fullBlocks, mine, newTo } from '../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { tell } from './listening.ts'
import { networkOf, startAggregator } from './running.ts'
import { watched } from './statements.ts'
import { copyNetwork, MARKET_TABLES, tablesOf } from './tables.ts'

const PLANS = fullBlocks(10, 5)
const BASE = mine([], PLANS.slice(0, 2))
const A = mine(BASE, PLANS.slice(2, 4), 'a')
const B = mine(BASE, PLANS.slice(4, 6), 'b')
/** Shorter than both, and all that is in it happened at other times. */
const C = mine(BASE, PLANS.slice(6, 7), 'c')
const A_GOES_ON = mine(A, PLANS.slice(7, 8))
const B_GOES_ON = mine(B, PLANS.slice(8, 9))

const LOGS = ['in one process', 'over a log that keeps its messages'] as const

type Scenario = {
  name: string
  /** Stored when the process starts that will die. */
  before: Chain
  /** Told to it at once. */
  told: Chain
  /** What the chain may be when the next process starts. */
  after: Readonly<Record<string, Chain>>
}

const FLUSH: Scenario = {
  name: 'flush',
  before: BASE,
  told: A,
  after: { 'the chain goes on': A_GOES_ON, 'the chain went another way': C },
}
const ROLLBACK: Scenario = {
  name: 'rollback',
  before: A,
  told: B,
  after: { 'the chain goes on': B_GOES_ON, 'the chain went back': A_GOES_ON, 'the chain went a third way': C },
}
const CASES = [FLUSH, ROLLBACK].flatMap((scenario) =>
  Object.keys(scenario.after).flatMap((turn) => LOGS.map((log) => ({ scenario, name: scenario.name, turn, log }))),
)

describe.skipIf(withoutClickHouse)('a crash between any two statements leaves the rows of a clean run', () => {
  let database: TestDatabase
  let client: ClickHouseClient
  let networks = 0
  /** By case: what each moment of the process left, under a name of its own. */
  const remains = new Map<string, NetworkName[]>()

  const another = () => networkOf(`network ${++networks}`)
  const keyOf = ({ name, turn, log }: (typeof CASES)[number]) => `${name}, ${turn}, ${log}`

  async function run(network: NetworkName, chain: Chain, log?: ArrayLog): Promise<void> {
    const aggregator = await startAggregator(client, { network, log })
    await tell(client, aggregator, { network, chain, log })
    expect(await aggregator.stop()).toBeUndefined()
  }

  /** One process does it all; before each of its statements, and at its end, the tables are what its death would leave. */
  async function keepRemains(scenario: Scenario): Promise<void> {
    const network = another()
    await run(network, scenario.before)
    const cases = CASES.filter((one) => one.scenario === scenario)
    let isWatching = false
    const keep = async () => {
      if (!isWatching) return
      const names = cases.map((one) => {
        const name = another()
        remains.set(keyOf(one), [...(remains.get(keyOf(one)) ?? []), name])
        return name
      })
      await copyNetwork(client, network, names)
    }
    const aggregator = await startAggregator(watched(client, keep), { network })
    isWatching = true
    await aggregator.append(asBlocks(network, newTo(scenario.before, scenario.told)))
    await keep()
    await aggregator.stop()
  }

  beforeAll(async () => {
    database = await freshDatabase()
    // Two thousand statements on a few rows each: threads would cost more than they do.
    client = database.connect({ settings: { max_threads: 1 } })
    await Promise.all([FLUSH, ROLLBACK].map(keepRemains))
  })
  afterAll(() => database?.drop())

  test.each(CASES)('in a $name: $turn, $log', async (one) => {
    const { before, told, after } = one.scenario
    const chain = after[one.turn] ?? []
    const clean = another()
    await run(clean, chain)
    const left = remains.get(keyOf(one)) ?? []
    // Nine statements in a flush, as many in a rollback.
    expect(left.length).toBeGreaterThan(9)
    await allOf(left, (network) => {
      const messages = asBlocks(network, [...before, ...newTo(before, told)])
      return run(network, chain, one.log === 'in one process' ? undefined : arrayLog(messages))
    })
    const tables = await tablesOf(client)
    for (const [statements, network] of left.entries()) {
      for (const table of MARKET_TABLES) {
        expect(tables(network)[table], `${table} after ${statements} statements`).toStrictEqual(tables(clean)[table])
      }
    }
  })
})

const AT_ONCE = 6

/** `task` on all of these, some at a time. */
async function allOf<T>(items: readonly T[], task: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items]
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await task(next)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}
