/** The width of ranges that an endpoint passes: a burst of failures is forgotten soon, and a fixed limit costs few requests. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PassingWidth } from '../../../ingest/rpc/endpoint-limits.ts'

const WIDEST = 20_000

/** Asks at the present width, as a reader of history does; returns how many requests failed. */
function ask(width: PassingWidth, times: number, passes: (blocks: number) => boolean): number {
  let failures = 0
  for (let left = times; left > 0; left--) {
    const blocks = Math.min(WIDEST, width.blocks)
    if (passes(blocks)) width.answered(blocks)
    else {
      width.failed(blocks)
      failures++
    }
  }
  return failures
}

describe('a width that failures narrowed', () => {
  test('a width of one block is the widest again after some 60 answers', () => {
    const width = new PassingWidth(Number.POSITIVE_INFINITY)
    ask(width, 40, () => false)
    expect(width.blocks).toBe(1)
    ask(width, 60, () => true)
    expect(width.blocks).toBeGreaterThanOrEqual(WIDEST)
  })

  test('a width that bursts narrowed during its growth is the widest again after some 300 answers more', () => {
    const width = new PassingWidth(Number.POSITIVE_INFINITY)
    for (let times = 20; times > 0; times--) ask(width, 300, (blocks) => blocks <= 1)
    ask(width, 360, () => true)
    expect(width.blocks).toBeGreaterThanOrEqual(WIDEST)
  })

  test('a width stays near a fixed limit, which fails one request in a hundred', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), (limit) => {
        const width = new PassingWidth(Number.POSITIVE_INFINITY)
        const passes = (blocks: number) => blocks <= limit
        expect(ask(width, 1_000, passes)).toBeLessThan(30)
        expect(ask(width, 10_000, passes)).toBeLessThan(100)
        expect(width.blocks).toBeGreaterThan(limit / 4)
        expect(width.blocks).toBeLessThanOrEqual(2 * limit)
      }),
      { numRuns: 50 },
    )
  })

  test('several ranges in flight count as one failure', () => {
    const width = new PassingWidth(Number.POSITIVE_INFINITY)
    for (let left = 4; left > 0; left--) width.failed(500)
    expect(width.blocks).toBe(250)
  })
})
