/** Ticks that a feed reads while a rollback has lowered the tip. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tickReader } from '../../../../api/extras/stream/tick-reader.ts'
import { type Market, openMarket } from '../../../../api/market/market.ts'
import { readTickQuery } from '../../../../api/query/query.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { type Running, startAggregator } from '../../../aggregator/running.ts'
import { asBlocks, fullBlocks, mine, POOLS, withOwnTransactions } from '../../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'

const [POOL] = POOLS
const CHAIN = mine(
  [],
  withOwnTransactions(
    fullBlocks(4, 11).map((plan) => ({
      ...plan,
      secondsLater: 1,
      ticks: plan.ticks.map((tick) => ({ ...tick, pool: POOL?.id ?? tick.pool })),
    })),
    'first',
  ),
)
const IDS = CHAIN.map(({ ticks }) => ticks.map((tick) => `${tick.transactionHash}-${tick.logIndex}`))

const QUERY = readTickQuery(new Map([['pool', [POOL?.id ?? '']]]))

let database: TestDatabase
let running: Running
let market: Market

beforeAll(async () => {
  if (withoutClickHouse) return
  database = await freshDatabase()
  running = await startAggregator(database.client, { network: 'ethereum' })
  await running.append(asBlocks('ethereum', CHAIN))
  market = openMarket({ reader: database.client, networks: [NETWORKS.ethereum], clock, freshMs: 0 })
})
afterAll(async () => {
  await running?.stop()
  await database?.drop()
})

const clock = () => new Date(((CHAIN.at(-1)?.timestamp ?? 0) + 2) * 1_000)

test.skipIf(withoutClickHouse)('ticks of the newest second that a limit has cut off are not told later', async () => {
  const query = readTickQuery(
    new Map([
      ['pool', [POOL?.id ?? '']],
      ['limit', ['1']],
    ]),
  )
  const reader = tickReader(market, 'ethereum', query, clock)
  const first = await reader.read([], 'all')
  expect(reader.shown(first.rows).map(({ key }) => key)).toEqual(IDS.flat().slice(-1))
  expect(IDS.at(-1)?.length).toBeGreaterThan(1)
  const again = await reader.read(first.rows, 'tail')
  expect(again.rows).toEqual(first.rows)
})

/** The market whose tip is so many blocks below the newest stored one. */
function behind(blocks: number): Market {
  return {
    ...market,
    async states() {
      const states = new Map(await market.states())
      const state = states.get('ethereum')
      if (state?.tip) {
        const { number, hash, timestamp } = CHAIN.at(-1 - blocks) ?? state.tip
        states.set('ethereum', { ...state, tip: { ...state.tip, number, hash, timestamp } })
      }
      return states
    },
  }
}

test.skipIf(withoutClickHouse)(
  'ticks above the tip are not told, and stay where they were told under a higher tip',
  async () => {
    let blocks = 1
    const states = () => behind(blocks).states()
    const reader = tickReader({ ...market, states }, 'ethereum', QUERY, clock)
    const first = await reader.read([], 'all')
    expect(first.rows.map(({ key }) => key)).toEqual(IDS.slice(0, 3).flat())
    blocks = 2
    for (const scope of ['all', 'tail'] as const) {
      const lowered = await reader.read(first.rows, scope)
      expect(lowered.rows).toEqual(first.rows)
    }
    blocks = 0
    const whole = await reader.read(first.rows, 'tail')
    expect(whole.rows.map(({ key }) => key)).toEqual(IDS.flat())
  },
)
