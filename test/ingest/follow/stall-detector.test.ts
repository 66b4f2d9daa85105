/** Messages that are not stored are appended again, and all copies together stay bounded. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { StallDetector } from '../../../ingest/follow/stall-detector.ts'
import type { BlockRef, Message } from '../../../ingest/model/message.ts'
import type { StoredChain } from '../../../ingest/model/stored-chain.ts'
import { networkOf } from '../../aggregator/running.ts'
import { asBlocks, fullBlocks, mine } from '../../support/chain.ts'

const LOOK_MS = 60_000

function detector() {
  let now = 0
  let tip: BlockRef | undefined
  let isDown = false
  const stored: StoredChain = {
    async tip() {
      if (isDown) throw new Error('The tables do not answer.')
      return tip && { ...tip, finalized: 0 }
    },
    below: async () => [],
  }
  const stalls = new StallDetector(stored, LOOK_MS, () => now)
  return {
    look: (messages: readonly Message[]) => stalls.look(messages),
    pass: (ms: number) => {
      now += ms
    },
    store: (block: BlockRef | undefined) => {
      tip = block
    },
    break: (down: boolean) => {
      isDown = down
    },
  }
}

const [FIRST] = asBlocks(networkOf('ethereum'), mine([], fullBlocks(1, 1)))
if (!FIRST) throw new Error('A chain has a first block.')
const blockAt = (number: number): Message => ({ ...FIRST, number, hash: `0x${number.toString(16).padStart(64, '0')}` })
const refOf = (number: number): BlockRef => ({ number, hash: blockAt(number).hash })

describe('a stall', () => {
  test('is seen in time where the clock steps back', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const step = (ms: number) => vi.setSystemTime(Date.now() + ms)
    step(3_600_000)
    const stalls = new StallDetector(
      { tip: async () => ({ ...refOf(1), finalized: 0 }), below: async () => [] },
      LOOK_MS,
    )
    await stalls.look([blockAt(1), blockAt(2)])
    step(-3_600_000)
    vi.advanceTimersByTime(LOOK_MS)
    expect(await stalls.look([])).toBeUndefined()
    vi.advanceTimersByTime(LOOK_MS)
    expect(await stalls.look([])).toMatchObject({ tip: refOf(1) })
  })

  test('is a stored tip that stands still below what was appended', async () => {
    const stored = detector()
    stored.store(refOf(1))
    expect(await stored.look([blockAt(2), blockAt(3)])).toBeUndefined()
    stored.pass(LOOK_MS)
    expect(await stored.look([])).toBeUndefined()
    stored.pass(LOOK_MS)
    expect(await stored.look([blockAt(4)])).toEqual({ tip: expect.objectContaining(refOf(1)), appended: 3 })
  })

  test('is none where the tip moves, where it is the newest block, or where the tables do not answer', async () => {
    const stored = detector()
    for (let block = 1; block < 20; block++) {
      stored.store(refOf(block))
      stored.break(block === 10)
      expect(await stored.look([blockAt(block + 5)])).toBeUndefined()
      stored.pass(LOOK_MS)
    }
    stored.store(refOf(100))
    await stored.look([blockAt(100)])
    for (let look = 0; look < 20; look++) {
      stored.pass(LOOK_MS)
      expect(await stored.look([])).toBeUndefined()
    }
  })

  test('makes few copies of what is appended while no aggregator runs, however long that takes', async () => {
    const stored = detector()
    const tip = 1
    stored.store(refOf(tip))
    let copies = 0
    const blocks = 14_400
    for (let block = tip + 1; block <= blocks; block++) {
      stored.pass(12_000)
      const stall = await stored.look([blockAt(block)])
      if (!stall) continue
      // The listener appends everything above the stored tip once more.
      for (let again = tip + 1; again <= block; again++) await stored.look([blockAt(again)])
      copies += block - tip
    }
    expect(copies).toBeGreaterThan(0)
    expect(copies).toBeLessThan(2.5 * blocks)
  })

  test('is found as soon as the first one once the tip has moved', async () => {
    const stored = detector()
    stored.store(refOf(1))
    const untilStall = async (block: number) => {
      for (let looks = 1; looks < 1_000; looks++) {
        stored.pass(LOOK_MS)
        if (await stored.look([blockAt(block)])) return looks
      }
      throw new Error('No stall was found.')
    }
    const first = await untilStall(5)
    expect(await untilStall(5)).toBeGreaterThan(first)
    expect(await untilStall(5)).toBeGreaterThan(first + 2)
    stored.store(refOf(5))
    stored.pass(LOOK_MS)
    await stored.look([blockAt(6)])
    expect(await untilStall(7)).toBeLessThanOrEqual(first + 1)
  })
})
