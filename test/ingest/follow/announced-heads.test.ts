/** When a poll is due though no head was announced. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { AnnouncedHeads } from '../../../ingest/follow/announced-heads.ts'
import { madeUpHash } from '../../support/recorded.ts'

const SECOND = 1_000

const head = (number: number) => ({
  number,
  hash: madeUpHash(number),
  parentHash: madeUpHash(number - 1),
  timestamp: 1_700_000_000 + number,
})

describe('the time until the next head is late', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => void vi.useRealTimers())

  function announcedEvery(milliseconds: number, heads: number): AnnouncedHeads {
    const announced = new AnnouncedHeads()
    for (let number = 1; number <= heads; number++) {
      if (number > 1) vi.advanceTimersByTime(milliseconds)
      announced.add(head(number))
    }
    return announced
  }

  test('is one and a half of the intervals between them', () => {
    const announced = announcedEvery(12 * SECOND, 5)
    expect(announced.quietMs).toBeCloseTo(18 * SECOND)
    vi.advanceTimersByTime(10 * SECOND)
    expect(announced.quietMs).toBeCloseTo(8 * SECOND)
  })

  test('has passed where a subscription ended without a sign', () => {
    const announced = announcedEvery(2 * SECOND, 5)
    vi.advanceTimersByTime(4 * SECOND)
    expect(announced.quietMs).toBe(0)
  })

  test('is not known before the second head', () => {
    expect(new AnnouncedHeads().quietMs).toBe(0)
    expect(announcedEvery(SECOND, 1).quietMs).toBe(0)
  })

  test('is at most 20 seconds, however rare the heads are', () => {
    expect(announcedEvery(600 * SECOND, 5).quietMs).toBeCloseTo(20 * SECOND)
  })

  test('does not depend on how many endpoints announce a head', () => {
    const announced = announcedEvery(12 * SECOND, 5)
    vi.advanceTimersByTime(100)
    announced.add(head(5))
    expect(announced.quietMs).toBeCloseTo(18 * SECOND - 100)
  })
})

describe('a poll of the head', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => void vi.useRealTimers())

  function polled(): AnnouncedHeads {
    const announced = new AnnouncedHeads()
    for (const number of [1, 2, 3]) announced.add(head(number))
    announced.notePoll(true)
    return announced
  }

  test('is due once in six seconds', () => {
    const announced = polled()
    for (const number of [3, 4, 5]) announced.add(head(number))
    vi.advanceTimersByTime(5 * SECOND)
    expect(announced.isPollDue).toBe(false)
    vi.advanceTimersByTime(SECOND)
    expect(announced.isPollDue).toBe(true)
  })

  test.each([
    ['of the same number', { ...head(3), hash: madeUpHash(3, 1) }],
    ['below it', { ...head(2), hash: madeUpHash(2, 1) }],
    ['on another parent', { ...head(4), parentHash: madeUpHash(3, 1) }],
  ])('is due at once where a head contradicts one that was announced: %s', (_, other) => {
    const announced = polled()
    announced.add(other)
    expect(announced.isPollDue).toBe(true)
    announced.notePoll(true)
    expect(announced.isPollDue).toBe(false)
  })

  test('is due with each block once a head was not on top of the blocks that were read', () => {
    const announced = polled()
    announced.notePoll(false)
    announced.notePoll(true)
    expect(announced.isPollDue).toBe(true)
  })
})
