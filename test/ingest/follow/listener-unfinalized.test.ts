/** Where a chain has left a listener's trail, against one that steps back block by block. */
import { type Client, createClient, custom } from 'viem'
import { describe, expect, test } from 'vitest'
import { UnfinalizedChain } from '../../../ingest/follow/unfinalized-chain.ts'
import { ChainReplaced } from '../../../ingest/model/errors.ts'
import type { BlockRef } from '../../../ingest/model/message.ts'
import { madeUpHash } from '../../support/recorded.ts'

const FIRST = 1_000
const LENGTH = 3_000
const ref = (number: number, branch = 0): BlockRef => ({ number, hash: madeUpHash(number, branch) })
const refs = Array.from({ length: LENGTH }, (_, index) => ref(FIRST + index))
const TIP = FIRST + LENGTH - 1

/** A node whose blocks are another branch's from `forkedAt` on, up to `head`. */
function nodeOf({ forkedAt, head }: { forkedAt: number; head: number }) {
  let asked = 0
  const client: Client = createClient({
    transport: custom(
      {
        async request({ params }: { params: [string] }) {
          asked++
          const number = Number(params[0])
          if (number > head) return null
          const { hash } = ref(number, number >= forkedAt ? 1 : 0)
          return { number: params[0], hash, parentHash: hash, timestamp: '0x1' }
        },
      },
      { retryCount: 0 },
    ),
  })
  return { client, asked: () => asked }
}

describe('the newest block of the trail that a node has too', () => {
  test.each([0, 1, 2, 3, 4, 5, 64, 65, 1_000, LENGTH - 2, LENGTH - 1])(
    'is found %i blocks below the tip, however long the new branch is, with few questions',
    async (depth) => {
      for (const head of [TIP - 1, TIP, TIP + 1, TIP + 500].filter((number) => number > TIP - depth)) {
        const node = nodeOf({ forkedAt: TIP - depth + 1, head })
        expect(await new UnfinalizedChain(refs).ancestorOn(node.client, 'ethereum')).toEqual(ref(TIP - depth))
        expect(node.asked()).toBeLessThanOrEqual(2 + 2 * Math.ceil(Math.log2(depth + 1)))
      }
    },
  )

  test('is none where the node has another block in the place of the oldest, final or not', async () => {
    const node = nodeOf({ forkedAt: FIRST, head: TIP + 1 })
    const ancestor = (trail: UnfinalizedChain) => trail.ancestorOn(node.client, 'ethereum')
    await expect(ancestor(new UnfinalizedChain(refs))).rejects.toThrow(
      /is on another chain than what is stored: block 1000 is/,
    )
    await expect(ancestor(new UnfinalizedChain(refs, TIP - 9))).rejects.toThrow(
      /replaced below its finality: block 3990 was final/,
    )
    await expect(ancestor(new UnfinalizedChain(refs, TIP - 9))).rejects.toThrow(ChainReplaced)
  })

  test.each([
    ['only the tip', TIP - 1],
    ['the newest hundred', TIP - 100],
    ['all of them', FIRST - 1],
  ])('is not told by a node that lacks %s: it is behind', async (_, head) => {
    const { client } = nodeOf({ forkedAt: TIP + 1, head })
    await expect(new UnfinalizedChain(refs).ancestorOn(client, 'ethereum')).rejects.toThrow(
      /does not have block \d+ yet/,
    )
  })
})

describe('the final block of a trail', () => {
  test('the final block is the anchor: blocks below it are dropped', async () => {
    const trail = new UnfinalizedChain(refs)
    trail.finalize(ref(TIP - 5))
    expect(trail.finalized).toBe(TIP - 5)
    expect(trail.has(ref(TIP - 6))).toBe(false)
    const { client } = nodeOf({ forkedAt: TIP - 5, head: TIP })
    await expect(trail.ancestorOn(client, 'ethereum')).rejects.toThrow(ChainReplaced)
  })

  test('a final block of another branch, or one that was final before, changes nothing', () => {
    const trail = new UnfinalizedChain(refs, TIP - 50)
    trail.finalize(ref(TIP - 5, 1))
    trail.finalize(ref(TIP - 60))
    expect(trail.finalized).toBe(TIP - 50)
    expect([trail.has(ref(TIP - 51)), trail.has(ref(TIP - 50))]).toEqual([false, true])
  })

  test('the newest block at or below the final number is kept where blocks are missing', () => {
    const trail = new UnfinalizedChain([ref(10), ref(20), ref(30)], 25)
    expect([10, 20, 30].map((number) => trail.has(ref(number)))).toEqual([false, true, true])
  })
})
