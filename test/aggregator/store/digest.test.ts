import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { digestOf, digestOfColumns, digestOfDollars } from '../../../aggregator/store/digest.ts'
import { columnsOf } from '../../../ingest/columns/tick-columns.ts'
import type { Tick } from '../../../ingest/model/tick.ts'
import { anyTick } from '../../support/any-tick.ts'
import { blockPlan } from '../../support/chain.ts'
import { seeded } from '../../support/seed.ts'

const ticks = blockPlan({ full: true }).map((plan) => plan.ticks)

describe('the digest of a block’s ticks', () => {
  test('two blocks with the same ticks have the same sum, however they were read', () => {
    const shuffled = ticks.chain((some) =>
      fc.tuple(fc.constant(some), fc.shuffledSubarray([...some], { minLength: some.length })),
    )
    fc.assert(
      fc.property(shuffled, ([inOrder, inAnyOrder]) => {
        expect(digestOf(inAnyOrder)).toBe(digestOf(inOrder))
      }),
      seeded(),
    )
  })

  test('the digest of columns is that of their ticks', () => {
    fc.assert(
      fc.property(fc.array(anyTick({ pool: `0x${'fe'.repeat(20)}` })), (some) => {
        const columns = columnsOf([{ number: 1, timestamp: 1, ticks: some }])
        expect(digestOfColumns(columns)).toBe(digestOf(some))
      }),
      seeded(),
    )
  })

  test('the digest of dollars changes where two ticks exchange theirs', () => {
    const [one, other] = [1n, 2n].map((amountUsdMicros, logIndex) => ({ logIndex, amountUsdMicros }) as Tick)
    if (!one || !other) throw new Error('There are two.')
    const exchanged = [
      { ...one, amountUsdMicros: other.amountUsdMicros },
      { ...other, amountUsdMicros: one.amountUsdMicros },
    ]
    expect(digestOfDollars(exchanged)).not.toBe(digestOfDollars([one, other]))
    expect(digestOfDollars([other, one])).toBe(digestOfDollars([one, other]))
  })

  test('the digest is the sum of its parts, and 0 for no ticks', () => {
    fc.assert(
      fc.property(ticks, ticks, (some, others) => {
        expect(digestOf([...some, ...others])).toBe(BigInt.asUintN(64, digestOf(some) + digestOf(others)))
      }),
      seeded(),
    )
    expect(digestOf([])).toBe(0n)
  })

  test('the digest changes when a tick is missing, moved, of another transaction or of another size', () => {
    fc.assert(
      fc.property(ticks, fc.nat(), (some, choice) => {
        const at = choice % some.length
        const tick = some[at]
        if (!tick) return
        const digest = digestOf(some)
        expect(digestOf(some.toSpliced(at, 1))).not.toBe(digest)
        for (const other of [
          { ...tick, logIndex: tick.logIndex + 1 },
          { ...tick, transactionHash: `0x${'5a'.repeat(32)}` as const },
          { ...tick, amount0: tick.amount0 + 1n },
          { ...tick, amount1: tick.amount1 + 1n },
          { ...tick, sqrtPriceX96: tick.sqrtPriceX96 + 1n },
        ]) {
          expect(digestOf(some.with(at, other))).not.toBe(digest)
        }
      }),
      seeded(),
    )
  })
})
