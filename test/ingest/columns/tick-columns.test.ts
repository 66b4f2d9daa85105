/** Ticks as columns have the same values, to the last bit. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sortTicks } from '../../../ingest/columns/sorted-ticks.ts'
import { blocksOver, columnsOf, concatColumns, sliceColumns, tickAt } from '../../../ingest/columns/tick-columns.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { anyTick } from '../../support/any-tick.ts'
import { seeded } from '../../support/seed.ts'

const POOLS: readonly PoolId[] = [`0x${'0b'.repeat(32)}`, `0x${'0a'.repeat(20)}`, `0x${'0c'.repeat(20)}`]
const ticks = fc.array(
  fc.constantFrom(...POOLS).chain((pool) => anyTick({ pool })),
  { maxLength: 6 },
)
const blocks = fc.uniqueArray(
  fc.record({
    number: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
    timestamp: fc.nat({ max: 2 ** 32 - 1 }),
    ticks: ticks.map((some) => some.map((tick, logIndex) => ({ ...tick, logIndex }))),
  }),
  { maxLength: 8, selector: ({ number }) => number },
)

test('a tick of any size is read from columns as it was, in its block', () => {
  fc.assert(
    fc.property(blocks, (blocks) => {
      const columns = columnsOf(blocks)
      const rows = blocks.flatMap(({ number, timestamp, ticks }) => ticks.map((tick) => ({ number, timestamp, tick })))
      const read = rows.map((_, row) => ({
        number: columns.block[row],
        timestamp: columns.time[row],
        tick: tickAt(columns, row),
      }))
      expect(read).toStrictEqual(rows)
      expect(columns.length).toBe(rows.length)
    }),
    seeded({ numRuns: 300 }),
  )
})

test('sorted ticks are those of each pool in the order of the chain, the pools by their ids', () => {
  fc.assert(
    fc.property(blocks, (blocks) => {
      const { ticks, order, groups } = sortTicks(columnsOf(blocks))
      const sorted = Array.from(order, (row) => tickAt(ticks, row))
      const all = blocks.flatMap((block) => block.ticks)
      const byPool = [...POOLS].sort().map((pool) => all.filter((tick) => tick.pool === pool))
      expect(sorted).toStrictEqual(byPool.flat())
      expect(groups.map(({ from, to }) => to - from)).toEqual(byPool.map(({ length }) => length).filter((it) => it > 0))
    }),
    seeded({ numRuns: 300 }),
  )
})

/** Blocks of a range, whose numbers ascend. */
const range = blocks.map((some) => some.map((block, index) => ({ ...block, number: index })))

test('a block over columns has the ticks of its rows', () => {
  fc.assert(
    fc.property(range, (blocks) => {
      const hash = `0x${'0c'.repeat(32)}` as const
      const bare = blocks.map((block) => ({ ...block, ...{ hash, pools: [], liquidity: [], balances: [], ticks: [] } }))
      const over = blocksOver(bare, columnsOf(blocks))
      expect(over.map(({ number, ticks }) => ({ number, ticks }))).toStrictEqual(
        blocks.map(({ number, ticks }) => ({ number, ticks })),
      )
    }),
    seeded({ numRuns: 300 }),
  )
})

test('slices of columns that are joined again have the same ticks, whatever pools each part names', () => {
  fc.assert(
    fc.property(range, range, fc.nat(), (one, later, choice) => {
      const other = later.map((block) => ({ ...block, number: block.number + one.length }))
      const [first, second] = [columnsOf(one), columnsOf(other)]
      const cut = choice % (first.length + 1)
      const joined = concatColumns([sliceColumns(first, 0, cut), second, sliceColumns(first, cut, first.length)])
      const ticks = one.flatMap((block) => block.ticks)
      const expected = [...ticks.slice(0, cut), ...other.flatMap((block) => block.ticks), ...ticks.slice(cut)]
      expect(Array.from({ length: joined.length }, (_, row) => tickAt(joined, row))).toStrictEqual(expected)
    }),
    seeded({ numRuns: 300 }),
  )
})
