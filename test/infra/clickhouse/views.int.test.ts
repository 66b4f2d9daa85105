/** The analysts' views beside the rows that they are made of, and the documented queries. */
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sideOf } from '../../../ingest/model/tick.ts'
import { foldedCandles } from '../../aggregator/candles.ts'
import { networkOf, type Running, startAggregator } from '../../aggregator/running.ts'
import { asBlocks, fullBlocks, mine, POOLS } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'

const network = networkOf('ethereum')
const TRUNK = mine([], fullBlocks(12, 21).slice(0, 8))
const ORPHANED = mine(TRUNK, fullBlocks(4, 22), 'orphaned')
const CHAIN = mine(TRUNK, fullBlocks(4, 23))

describe.skipIf(withoutClickHouse)('the views', () => {
  let database: TestDatabase
  let aggregator: Running

  beforeAll(async () => {
    database = await freshDatabase()
    aggregator = await startAggregator(database.client, { network })
    for (const chain of [ORPHANED, CHAIN.slice(TRUNK.length)]) await aggregator.append(asBlocks(network, chain))
    await aggregator.stop()
  })
  afterAll(() => database?.drop())

  async function ask(query: string): Promise<Record<string, string>[]> {
    const answer = await database.client.query({ query, format: 'JSONStringsEachRow' })
    return answer.json<Record<string, string>>()
  }

  test('market_pools has each pool once, with its pair', async () => {
    const seen = new Set(CHAIN.flatMap(({ pools }) => pools.map(({ id }) => id)))
    const pools = POOLS.filter(({ id }) => seen.has(id))
    expect(await ask('SELECT pool, pair, decimals1, fee FROM market_pools ORDER BY pool')).toEqual(
      pools.map(({ id, token0, token1, fee }) => ({
        pool: id,
        pair: `${token0.symbol}-${token1.symbol}`,
        decimals1: String(token1.decimals),
        fee: String(fee),
      })),
    )
  })

  test('market_ticks has each swap of the chain once, none of an orphan, with its side and its amounts in units of the tokens', async () => {
    const ticks = CHAIN.flatMap(({ number, ticks }) => ticks.map((tick) => ({ number, tick })))
    const rows = await ask('SELECT * FROM market_ticks ORDER BY block, log_index')
    expect(
      rows.map(({ block, log_index, side, raw_amount0, pair }) => ({ block, log_index, side, raw_amount0, pair })),
    ).toEqual(
      ticks.map(({ number, tick }) => ({
        block: String(number),
        log_index: String(tick.logIndex),
        side: sideOf(tick),
        raw_amount0: String(tick.amount0),
        pair: `ETH-${POOLS.find(({ id }) => id === tick.pool)?.token1.symbol}`,
      })),
    )
    for (const [index, row] of rows.entries()) {
      expect(Number(row['amount0'])).toBeCloseTo(Number(ticks[index]?.tick.amount0) / 1e18)
      expect(Number(row['amount0']) / (Number(ticks[index]?.tick.amount0) / 1e18)).toBeCloseTo(1, 12)
    }
  })

  test('market_candles has each bucket with trades once, with the part of its volume that takers bought', async () => {
    const rows = await ask('SELECT pool, resolution, time, trades, buys, buy_volume0 FROM market_candles')
    const expected = Object.entries(foldedCandles(CHAIN)).map(
      ([key, { trades, buys, buyVolume0 }]) =>
        `${key} ${trades} ${buys} ${(Number(buyVolume0) / 1e18).toPrecision(12)}`,
    )
    const found = rows.map(({ pool, resolution, time, trades, buys, buy_volume0 }) => {
      const start = new Date(time ?? '').toISOString()
      return `${pool} ${resolution} ${start} ${trades} ${buys} ${Number(buy_volume0).toPrecision(12)}`
    })
    expect(found.sort()).toEqual(expected.sort())
  })

  test('a question for one pool and a day reads by the primary key', async () => {
    for (const view of ['market_ticks', 'market_candles']) {
      const plan = await ask(
        `EXPLAIN indexes = 1 SELECT count() FROM ${view}
         WHERE network = 'ethereum' AND pool = '${POOLS[0]?.id}' AND time >= '2024-02-01' AND time < '2024-02-02'`,
      )
      // Without the lines of the tree.
      const text = plan.map((row) => row['explain']?.replaceAll(/[│├└─]/g, ' ')).join('\n')
      expect(text).toMatch(/Keys:\s+network\s+pool\s+/)
    }
  })

  test('the documented queries are answered', async () => {
    const text = await readFile(new URL('../../../infra/docs/sql.md', import.meta.url), 'utf8')
    const questions = [...text.matchAll(/```sql\n(.*?)```/gs)].map(([, sql = '']) => sql)
    expect(questions).toHaveLength(3)
    for (const question of questions) expect(await ask(question)).toBeInstanceOf(Array)
  })
})
