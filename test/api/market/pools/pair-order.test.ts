import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type LoadedOrder, PairOrder, TouchedPools } from '../../../../api/market/pools/pair-order.ts'
import type { PoolId } from '../../../../ingest/model/pool.ts'

const idOf = (number: number): PoolId => `0x${number.toString(16).padStart(64, '0')}`
const LEAD = idOf(1)

describe('the order of a crowded pair', () => {
  /** All pools that are stored are of the pair. */
  let stored: Set<PoolId>
  let written: TouchedPools
  let loads: ((loaded: LoadedOrder) => void)[]
  let order: PairOrder
  const loaded = { top: { byValue: [{ pool: LEAD, valueUsd: 1 }], leads: [LEAD], few: [], sound: 1 }, areAll: true }

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] })
    written = new TouchedPools()
    loads = []
    stored = new Set(Array.from({ length: 100 }, (_, index) => idOf(index + 1)))
    const find = async (pools: readonly PoolId[]) => ({
      ofPair: pools.filter((pool) => stored.has(pool)),
      unknown: pools.filter((pool) => !stored.has(pool)),
    })
    order = new PairOrder(() => new Promise((resolve) => loads.push(resolve)), written, find, 1_000)
  })
  afterEach(() => vi.useRealTimers())

  async function loadFirst(): Promise<void> {
    const first = order.read()
    await answerLoad(loaded)
    expect(await first).toEqual({ ...loaded.top, touched: [] })
  }

  async function answerLoad(answer: LoadedOrder): Promise<void> {
    await vi.waitFor(() => expect(loads).toHaveLength(1))
    loads.shift()?.(answer)
  }

  test('serves beyond its age, while it is read again, where it has all that was touched', async () => {
    await loadFirst()
    written.add([idOf(2)])
    vi.advanceTimersByTime(3_600_000)
    expect((await order.read()).touched).toEqual([idOf(2)])
    expect(loads).toHaveLength(1)
    // One load for all callers.
    await order.read()
    expect(loads).toHaveLength(1)
  })

  test('is waited for beyond its age, where more was touched than it has', async () => {
    await loadFirst()
    written.add(Array.from({ length: 40 }, (_, index) => idOf(index + 2)))
    expect((await order.read()).touched).toHaveLength(16)
    vi.advanceTimersByTime(3_600_000)
    const late = order.read()
    await answerLoad({ ...loaded, top: { ...loaded.top, sound: 7 } })
    expect((await late).sound).toBe(7)
  })

  test('does not count pools that it compares anyway', async () => {
    await loadFirst()
    for (let count = 0; count < 40; count++) written.add([LEAD])
    expect((await order.read()).touched).toEqual([])
    vi.advanceTimersByTime(500_000)
    await order.read()
    expect(loads).toEqual([])
  })

  test('keeps a touched pool until it is found', async () => {
    await loadFirst()
    const late = idOf(1_000)
    written.add([late])
    expect((await order.read()).touched).toEqual([])
    stored.add(late)
    expect((await order.read()).touched).toEqual([late])
  })
})
