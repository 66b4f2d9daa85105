/** Ticks as columns have the same values, to the last bit. */
import { expect, test } from 'vitest'
import { columnsOf, tickAt } from '../../../ingest/model/tick-columns.ts'
import { randomOf } from '../../simulation/random.ts'
import { randomTick } from '../../support/random-tick.ts'

test('a tick of any size is read from columns as it was', () => {
  const random = randomOf(46)
  const blocks = Array.from({ length: 200 }, (_, index) => ({
    number: 2 ** 40 + index,
    timestamp: 1_700_000_000 + index,
    ticks: Array.from({ length: random.between(0, 9) }, (_, logIndex) => randomTick(random, logIndex)),
  }))
  const columns = columnsOf(blocks)
  const ticks = blocks.flatMap((block) => block.ticks)
  expect(columns.length).toBe(ticks.length)
  expect(ticks.map((_, row) => tickAt(columns, row))).toEqual(ticks)
  const places = blocks.flatMap(({ number, timestamp, ticks }) => ticks.map(() => [number, timestamp]))
  expect(places.map((_, row) => [columns.block[row], columns.time[row]])).toEqual(places)
  expect(new Set(columns.pools).size).toBe(columns.pools.length)
})
