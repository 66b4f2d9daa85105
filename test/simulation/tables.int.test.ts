/** Some of the simulated lives through the real aggregator into real tables: rows and candles equal those of a clean run. `LIVES=50` asks for that many. */

import { describe, expect, test } from 'vitest'
import type { Message } from '../../ingest/model/message.ts'
import { startAggregator } from '../aggregator/running.ts'
import { arrayLog } from '../support/array-log.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { MARKET_TABLES, type MarketTable, rowsOf } from '../support/rows.ts'
import { sample } from '../support/sample.ts'
import { NETWORK } from './market.ts'
import { judged } from './oracle.ts'
import { type Random, randomOf } from './random.ts'
import { planOf } from './simulate.ts'

const given = process.env['SEED']
const SEEDS =
  given === undefined ? Array.from({ length: sample('LIVES', 3, 10) }, (_, index) => 1_001 + index) : [Number(given)]

describe.skipIf(withoutClickHouse)('real tables after a simulated life', () => {
  test.each(SEEDS)('are those of a clean run (SEED=%i)', async (seed) => {
    const { taken, cleanTaken } = await judged(planOf(seed))
    const [lived, clean] = await Promise.all([freshDatabase(), freshDatabase()])
    try {
      await aggregateInLives(lived, taken, randomOf(seed))
      await aggregateInLives(clean, cleanTaken)
      expect((await rowsOf(clean.client, 'candles')).length).toBeGreaterThan(10)
      for (const table of MARKET_TABLES) {
        expect(await rowsAtRest(lived, table), table).toEqual(await rowsAtRest(clean, table))
      }
    } finally {
      await Promise.all([lived.drop(), clean.drop()])
    }
  })
})

/** In one go, or where there is a `random` in stretches, with a new process now and then, over either kind of log. */
async function aggregateInLives(
  { client }: TestDatabase,
  messages: readonly Message[],
  random?: Random,
): Promise<void> {
  const log = random?.chance(0.5) ? arrayLog() : undefined
  const start = () => startAggregator(client, { network: NETWORK.name, log })
  let aggregator = await start()
  for (let next = 0; next < messages.length; ) {
    const size = random ? random.pick([1, 2, 5, 20, 60]) : messages.length
    await aggregator.append(messages.slice(next, next + size))
    next += size
    if (!random?.chance(0.15)) continue
    expect(await aggregator.stop()).toBeUndefined()
    aggregator = await start()
  }
  expect(await aggregator.stop()).toBeUndefined()
}

async function rowsAtRest({ client }: TestDatabase, table: MarketTable): Promise<string[]> {
  const rows = await rowsOf(client, table)
  if (table !== 'pools') return rows
  // A listener that starts again meets a pool again, and then says nothing of its first price.
  const pools = rows.map((row) => JSON.parse(row) as Record<string, string>)
  const sightings = pools.map(({ initial_sqrt_price: _, ...pool }) => JSON.stringify(pool))
  const prices = pools.filter((pool) => pool['initial_sqrt_price'] !== '0').map((pool) => JSON.stringify(pool))
  return [...new Set([...sightings, ...prices])].sort()
}
