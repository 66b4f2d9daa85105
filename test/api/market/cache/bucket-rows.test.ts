/** Prices of a row as ClickHouse sends them, as distances in units in the last place. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ulpsOf } from '../../../../aggregator/store/native-format.ts'
import { ROW_BYTES, restorePrices, rowsFrom } from '../../../../api/market/cache/bucket-rows.ts'
import { seeded } from '../../../support/seed.ts'

type Prices = { open: number; high: number; low: number; close: number }

const PRICES = ['open', 'high', 'low', 'close'] as const
const FIRST = { execution: 4, spot: 36 }

describe('prices of a row', () => {
  test('prices are those whose distances were stored, whatever they are', () => {
    const price = fc.oneof(fc.double({ min: 0, noNaN: true }), fc.constantFrom(0, 5e-324, Number.MAX_VALUE, 1))
    const range = fc.tuple(price, price, price, price).map(([open, close, one, other]): Prices => {
      return { open, close, high: Math.max(open, close, one), low: Math.min(open, close, other) }
    })
    fc.assert(
      fc.property(range, range, fc.nat({ max: 2 }), (execution, spot, at) => {
        const row = rowsFrom(new Uint8Array((at + 1) * ROW_BYTES))
        const start = at * ROW_BYTES
        row.setFloat64(start + FIRST.execution, execution.open, true)
        setDistances(row, start + FIRST.execution, execution)
        set(row, start + FIRST.spot, distance(spot.open, execution.open))
        setDistances(row, start + FIRST.spot, spot)
        restorePrices(row, start)
        for (const [prices, from] of [
          [execution, FIRST.execution],
          [spot, FIRST.spot],
        ] as const)
          expect(PRICES.map((_, place) => row.getFloat64(start + from + 8 * place, true))).toEqual(
            PRICES.map((name) => prices[name]),
          )
      }),
      seeded({ numRuns: 2_000 }),
    )
  })
})

function setDistances(row: DataView, at: number, { open, high, low, close }: Prices): void {
  set(row, at + 8, distance(high, Math.max(open, close)))
  set(row, at + 16, distance(low, Math.min(open, close)))
  set(row, at + 24, distance(close, open))
}

function set(row: DataView, at: number, [low = 0, high = 0]: Uint32Array): void {
  row.setUint32(at, low, true)
  row.setUint32(at + 4, high, true)
}

function distance(value: number, base: number): Uint32Array {
  return ulpsOf(Float64Array.of(value), Float64Array.of(base))
}
