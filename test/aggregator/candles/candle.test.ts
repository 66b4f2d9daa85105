import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bucketStart, type Candle, fromTick, merge, RESOLUTIONS } from '../../../aggregator/candles/candle.ts'
import type { Tick } from '../../../ingest/model/tick.ts'
import { blockPlan } from '../../support/chain.ts'
import { seeded } from '../../support/seed.ts'

/** At least one tick. */
const ticks = fc
  .array(blockPlan(), { minLength: 1, maxLength: 8 })
  .map((plans) => plans.flatMap((plan) => plan.ticks))
  .filter((some) => some.length > 0)
const candle = ticks.map((some) => foldLeft(some.map(fromTick)))

describe('merge', () => {
  test('merge is associative', () => {
    fc.assert(
      fc.property(candle, candle, candle, (a, b, c) => {
        expect(merge(merge(a, b), c)).toStrictEqual(merge(a, merge(b, c)))
      }),
      seeded(),
    )
  })

  test('however a stream of ticks is cut and in whatever order neighbours are merged, the candle has the same bits', () => {
    fc.assert(
      fc.property(ticks, fc.infiniteStream(fc.nat()), (stream, choices) => {
        const pieces = stream.map(fromTick)
        while (pieces.length > 1) {
          const at = (choices.next().value ?? 0) % (pieces.length - 1)
          const [earlier, later] = pieces.slice(at, at + 2)
          if (earlier && later) pieces.splice(at, 2, merge(earlier, later))
        }
        expect(pieces).toStrictEqual([foldLeft(stream.map(fromTick))])
      }),
      seeded(),
    )
  })

  test('sums are integers, and the rest is first, last, least and greatest', () => {
    fc.assert(
      fc.property(ticks, (stream) => {
        expect(foldLeft(stream.map(fromTick))).toStrictEqual(naive(stream))
      }),
      seeded(),
    )
  })
})

test('a swap of 0 for 0 moves the spot price of a candle and none of its execution prices, wherever it stands', () => {
  fc.assert(
    fc.property(ticks, fc.nat(), (stream, place) => {
      const [first] = stream
      if (!first) return
      const nothing = { ...first, amount0: 0n, amount1: 0n, price: 1e-39, spotPrice: 1e-39 }
      const folded = foldLeft(stream.toSpliced(place % (stream.length + 1), 0, nothing).map(fromTick))
      expect(folded.execution).toStrictEqual(foldLeft(stream.map(fromTick)).execution)
      expect(folded).toMatchObject({ spot: { low: 1e-39 }, trades: stream.length + 1 })
    }),
    seeded(),
  )
})

describe('bucketStart', () => {
  test('buckets are aligned to 1970-01-01, and each second is in one of them', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31), fc.constantFrom(...RESOLUTIONS), (timestamp, seconds) => {
        const start = bucketStart(timestamp, seconds)
        expect(start % seconds).toBe(0)
        expect(timestamp - start).toBeGreaterThanOrEqual(0)
        expect(timestamp - start).toBeLessThan(seconds)
      }),
      seeded(),
    )
  })

  test('a finer bucket lies in one coarser bucket', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31), (timestamp) => {
        for (const [index, coarse] of RESOLUTIONS.entries()) {
          for (const fine of RESOLUTIONS.slice(0, index)) {
            expect(bucketStart(bucketStart(timestamp, fine), coarse)).toBe(bucketStart(timestamp, coarse))
          }
        }
      }),
      seeded(),
    )
  })
})

function foldLeft(candles: readonly Candle[]): Candle {
  return candles.reduce((earlier, later) => merge(earlier, later))
}

/** Written without the code under test. */
function naive(stream: readonly Tick[]): Candle {
  const prices = (of: (tick: Tick) => number, ticks = stream) => {
    const all = ticks.map(of)
    const sorted = all.toSorted((a, b) => a - b)
    return { open: all.at(0) ?? 0, high: sorted.at(-1) ?? 0, low: sorted.at(0) ?? 0, close: all.at(-1) ?? 0 }
  }
  const total = (of: (tick: Tick) => bigint, ticks = stream) => {
    let sum = 0n
    for (const tick of ticks) sum += of(tick) < 0n ? -of(tick) : of(tick)
    return sum
  }
  // The taker received token0; where that did not move, none of token1.
  const buys = stream.filter(({ amount0, amount1 }) => (amount0 === 0n ? amount1 <= 0n : amount0 > 0n))
  return {
    execution: prices(
      (tick) => tick.price,
      stream.filter((tick) => tick.amount0 !== 0n || tick.amount1 !== 0n),
    ),
    spot: prices((tick) => tick.spotPrice),
    volume0: total((tick) => tick.amount0),
    volume1: total((tick) => tick.amount1),
    volumeUsdMicros: total((tick) => tick.amountUsdMicros),
    trades: stream.length,
    buys: buys.length,
    buyVolume0: total((tick) => tick.amount0, buys),
    buyVolume1: total((tick) => tick.amount1, buys),
    unexecuted: stream.filter((tick) => tick.amount0 === 0n && tick.amount1 === 0n).length,
  }
}
