/** Rows as ClickHouse sends them, with prices as distances in units in the last place, and what they fold into. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromTick, merge } from '../../../../aggregator/candles/candle.ts'
import { ulpsOf } from '../../../../aggregator/store/native-format.ts'
import { foldRows, ROW_BYTES, restoreRow, rowOf, rowsFrom } from '../../../../api/market/cache/bucket-rows.ts'
import { blockPlan } from '../../../support/chain.ts'
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
        restoreRow(row, start)
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

describe('the flow of folded rows', () => {
  const swaps = fc
    .array(blockPlan(), { minLength: 1, maxLength: 6 })
    .map((plans) => plans.flatMap(({ ticks }) => ticks))
  const seconds = fc.array(
    swaps.filter((ticks) => ticks.length > 0),
    { minLength: 1, maxLength: 6 },
  )

  test('the flow of rows is that of the candle that their candles merge into, for either token of the pair', () => {
    fc.assert(
      fc.property(seconds, fc.constantFrom<0 | 1>(0, 1), (perSecond, token) => {
        const candles = perSecond.map((ticks) => ticks.map(fromTick).reduce(merge))
        const rows = candles.map((candle, start) => bytesOf(rowOf({ ...KEY, start, candle })))
        const range = { from: 0, to: candles.length }
        const all = { interval: candles.length, range, kind: 'spot', token, flow: true } as const
        const [folded] = foldRows([rowsFrom(Buffer.concat(rows))], all)
        const whole = candles.reduce(merge)
        expect(folded).toMatchObject({
          volume: whole[`volume${token}`],
          trades: whole.trades,
          flow: {
            baseVolume: whole[`volume${token === 0 ? 1 : 0}`],
            usdMicros: whole.volumeUsdMicros,
            buyVolume: whole[`buyVolume${token}`],
            buys: whole.buys,
            unexecuted: whole.unexecuted,
          },
        })
      }),
      seeded(),
    )
  })

  test('a row as ClickHouse sends it has its bought volumes, whether it has buys, sells or both', () => {
    fc.assert(
      fc.property(
        swaps.filter((ticks) => ticks.length > 0),
        (ticks) => {
          const candle = ticks.map(fromTick).reduce(merge)
          const row = rowOf({ ...KEY, start: 0, candle })
          const sent = rowsFrom(
            bytesOf(
              rowOf({
                ...KEY,
                start: 0,
                candle: candle.buys < candle.trades ? candle : { ...candle, buyVolume0: 0n, buyVolume1: 0n },
              }),
            ),
          )
          for (const first of Object.values(FIRST)) {
            const at = (place: number) => row.getFloat64(first + 8 * place, true)
            setDistances(sent, first, { open: at(0), high: at(1), low: at(2), close: at(3) })
          }
          set(sent, FIRST.spot, distance(row.getFloat64(FIRST.spot, true), row.getFloat64(FIRST.execution, true)))
          restoreRow(sent, 0)
          expect(bytesOf(sent)).toEqual(bytesOf(row))
        },
      ),
      seeded(),
    )
  })
})

const KEY = { pool: '0x1', resolution: 1 } as const

function bytesOf({ buffer, byteOffset, byteLength }: DataView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
