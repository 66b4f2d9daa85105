import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ChunkSpan, MAX_AHEAD, ReadAhead } from '../../../../api/market/cache/read-ahead.ts'
import { seeded } from '../../../support/seed.ts'

const NAME = 'ethereum:pool 60'

/** Pages of a client that walks from chunk 1,000 on, each beside or overlapping the one before it. */
function pagesOf(direction: 1 | -1, steps: readonly { width: number; overlap: number }[]): ChunkSpan[] {
  let edge = 1_000
  return steps.map(({ width, overlap }) => {
    const near = edge + direction * (1 - Math.min(overlap, width - 1))
    const far = near + direction * (width - 1)
    edge = far
    return { first: Math.min(near, far), last: Math.max(near, far) }
  })
}

const chunksOf = ({ first, last }: ChunkSpan) => Array.from({ length: last - first + 1 }, (_, at) => first + at)

describe('reading ahead', () => {
  test('names each chunk of a walk before its page, from the third page on', () => {
    const widths = fc.integer({ min: 1, max: 8 })
    // Where a page begins within a chunk, it ends in one chunk more or less than the next one.
    const steps = fc.array(fc.record({ more: fc.nat({ max: 1 }), overlap: fc.nat({ max: 1 }) }), { minLength: 3 })
    fc.assert(
      fc.property(fc.constantFrom(1 as const, -1 as const), widths, steps, (direction, width, walk) => {
        const ahead = new ReadAhead()
        const pages = pagesOf(
          direction,
          walk.map(({ more, overlap }) => ({ width: width + more, overlap })),
        )
        const read = new Set<number>()
        for (const [at, page] of pages.entries()) {
          if (at >= 2) expect(chunksOf(page).filter((chunk) => !read.has(chunk))).toEqual([])
          for (const chunk of chunksOf(page)) read.add(chunk)
          const named = ahead.next(NAME, page, true)
          expect(named).toEqual(named.toSorted((one, other) => one - other))
          for (const chunk of named) {
            expect(read).not.toContain(chunk)
            expect(Math.min(Math.abs(chunk - page.first), Math.abs(chunk - page.last))).toBeLessThanOrEqual(MAX_AHEAD)
            read.add(chunk)
          }
        }
      }),
      seeded(),
    )
  })

  test('names none for the same page again, a page within it, or pages apart from each other', () => {
    const ahead = new ReadAhead()
    const pages = [
      { first: 10, last: 12 },
      { first: 10, last: 12 },
      { first: 11, last: 11 },
      { first: 30, last: 31 },
      { first: 10, last: 12 },
      { first: 9, last: 13 },
      { first: 50, last: 50 },
    ]
    expect(pages.flatMap((page) => ahead.next(NAME, page, true))).toEqual([])
  })

  test('names what it may not read at a later page', () => {
    const ahead = new ReadAhead()
    const next = (chunk: number, mayRead: boolean) => ahead.next(NAME, { first: chunk, last: chunk }, mayRead)
    expect(next(100, true)).toEqual([])
    expect(next(99, false)).toEqual([])
    expect(next(98, true)).toEqual([96, 97])
  })

  test('starts again where a client turns round', () => {
    const ahead = new ReadAhead()
    const next = (chunk: number) => ahead.next(NAME, { first: chunk, last: chunk }, true)
    expect([next(100), next(99), next(98)]).toEqual([[], [97, 98], [94, 95, 96]])
    expect(next(99)).toEqual([100, 101])
  })

  test('knows the walks of pools and resolutions apart', () => {
    const ahead = new ReadAhead()
    const next = (name: string, chunk: number) => ahead.next(name, { first: chunk, last: chunk }, true)
    expect([next('a', 5), next('b', 4), next('a', 6), next('b', 3)]).toEqual([[], [], [7, 8], [1, 2]])
  })
})
