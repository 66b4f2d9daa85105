import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  FINAL_HISTORY,
  finalRowVersion,
  finalTombstoneVersion,
  type LogPosition,
  positionOf,
  rowVersion,
  tombstoneVersion,
  type Version,
} from '../../../aggregator/store/version.ts'
import { seeded } from '../../support/seed.ts'

const MAX_GENERATION = 2 ** 15 - 1
const MAX_OFFSET = 2 ** 47 - 1
const position = fc.record({ generation: fc.nat(MAX_GENERATION), offset: fc.nat(MAX_OFFSET) })
/** Two places in the log, the second of which comes later. */
const places = fc.tuple(position, position).filter(([earlier, later]) => isBefore(earlier, later))

describe('a version', () => {
  test('a row beats the tombstone of its own message', () => {
    fc.assert(
      fc.property(position, (place) => {
        expect(rowVersion(place)).toBeGreaterThan(tombstoneVersion(place))
      }),
      seeded(),
    )
  })

  test('a tombstone buries the rows and tombstones of all earlier messages, and none of later ones', () => {
    fc.assert(
      fc.property(places, ([earlier, later]) => {
        expect(tombstoneVersion(later)).toBeGreaterThan(rowVersion(earlier))
        expect(tombstoneVersion(later)).toBeGreaterThan(tombstoneVersion(earlier))
        expect(tombstoneVersion(earlier)).toBeLessThan(rowVersion(later))
      }),
      seeded(),
    )
  })

  test('a generation beats every offset of the one before', () => {
    fc.assert(
      fc.property(fc.nat(MAX_GENERATION - 1), (generation) => {
        expect(tombstoneVersion({ generation: generation + 1, offset: 0 })).toBeGreaterThan(
          rowVersion({ generation, offset: MAX_OFFSET }),
        )
      }),
      seeded(),
    )
  })

  test('final history beats every live row', () => {
    expect(FINAL_HISTORY).toBeGreaterThan(rowVersion({ generation: MAX_GENERATION, offset: MAX_OFFSET }))
  })

  test('a row of a job beats the tombstone of that job, which beats every row of the jobs before', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31 - 1), (job) => {
        expect(finalRowVersion(job)).toBeGreaterThan(finalTombstoneVersion(job))
        expect(finalTombstoneVersion(job + 1)).toBeGreaterThan(finalRowVersion(job))
      }),
      seeded(),
    )
  })

  test('a version fits a UInt64, the bit of final history included', () => {
    const highest: Version = FINAL_HISTORY | rowVersion({ generation: MAX_GENERATION, offset: MAX_OFFSET })
    expect(highest).toBe(2n ** 64n - 1n)
  })

  test('the position of a row or tombstone is read back from its version', () => {
    fc.assert(
      fc.property(position, (place) => {
        expect(positionOf(rowVersion(place))).toStrictEqual({ ...place })
        expect(positionOf(tombstoneVersion(place))).toStrictEqual({ ...place })
      }),
      seeded(),
    )
  })
})

function isBefore(one: LogPosition, other: LogPosition): boolean {
  return one.generation === other.generation ? one.offset < other.offset : one.generation < other.generation
}
