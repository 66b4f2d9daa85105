import { numberToHex, padHex } from 'viem'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { SkippedPools } from '../../../ingest/pools/skipped-pools.ts'

const idOf = (number: number) => padHex(numberToHex(number), { size: 20 })
const MINUTE_MS = 60_000

describe('skipped pools', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => void vi.useRealTimers())

  test('a pool is decided again after ten minutes, then after twice as long each time', () => {
    const skipped = new SkippedPools()
    expect(skipped.isDue(idOf(1))).toBe(true)
    for (const minutes of [10, 20, 40]) {
      skipped.add(idOf(1), 'no-decimals')
      vi.advanceTimersByTime(minutes * MINUTE_MS - 1)
      expect(skipped.isDue(idOf(1))).toBe(false)
      vi.advanceTimersByTime(1)
      expect(skipped.isDue(idOf(1))).toBe(true)
    }
  })

  test('the same decision is no news, another one is', () => {
    const skipped = new SkippedPools()
    expect(skipped.add(idOf(1), 'no-decimals')).toBe(true)
    expect(skipped.add(idOf(1), 'no-decimals')).toBe(false)
    expect(skipped.add(idOf(1), 'unknown-pool')).toBe(true)
  })

  test('the memory is bounded, and the oldest are forgotten', () => {
    const skipped = new SkippedPools(100)
    for (let number = 0; number < 1_000; number++) skipped.add(idOf(number), 'other-factory')
    expect(skipped.size).toBe(100)
    expect([899, 900, 999].map((number) => skipped.get(idOf(number)))).toEqual([
      undefined,
      'other-factory',
      'other-factory',
    ])
  })
})
