/** The block that an answer is of: a swap above the shown tip is waited for, so that no block counts in part. */
import { expect, test } from 'vitest'
import { readDepthState } from '../../../../api/extras/depth/depth-state.ts'
import type { PoolCoverage } from '../../../../api/market/cache/coverage.ts'
import type { PoolAtTip } from '../../../../api/market/market.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { POOLS } from '../../scenario.ts'

type Reads = { tips: readonly number[]; swaps: readonly (number | undefined)[]; gaps?: PoolCoverage['gaps'] }

/** A pool whose reads answer one after the other, the last one again and again. */
function place({ tips, swaps, gaps = [] }: Reads): PoolAtTip & { reads: number } {
  const listing = { network: NETWORKS.ethereum, pool: POOLS.main, created: 1, firstSeen: 12 }
  const found = {
    reads: 0,
    answer: { view: { listing, forward: true } },
    async coverage() {
      const number = tips[Math.min(found.reads, tips.length - 1)] ?? 0
      return { tip: { number, timestamp: 12 * number }, backfilled: [], gaps, unproven: [], finalUntil: undefined }
    },
    store: {
      rows: {
        async lastSwap() {
          const swap = swaps[Math.min(found.reads++, swaps.length - 1)]
          return swap && { block: String(swap), log_index: 0, sqrt_price: '5', pool_tick: 7, liquidity: '1' }
        },
      },
    },
  }
  return found as unknown as PoolAtTip & { reads: number }
}

test('is the tip where the last swap is not above it', async () => {
  const reads = place({ tips: [9], swaps: [9] })
  expect(await readDepthState(reads)).toMatchObject({ at: { number: 9, time: 108 }, isWhole: true, start: { tick: 7 } })
  expect(reads.reads).toBe(1)
})

test('is the tip before the first swap, at the initial price', async () => {
  const { at, start, swap } = await readDepthState(place({ tips: [9], swaps: [undefined] }))
  expect([at.number, swap, start?.sqrtPriceX96]).toEqual([9, undefined, POOLS.main.initialSqrtPriceX96])
})

test('is waited for where a swap is stored before its block is the tip', async () => {
  const reads = place({ tips: [9, 9, 10], swaps: [10] })
  expect(await readDepthState(reads)).toMatchObject({ at: { number: 10 } })
  expect(reads.reads).toBe(3)
})

test('is not waited for where blocks of the pool are missing', async () => {
  const reads = place({ tips: [9], swaps: [10], gaps: [{ from: 1, to: 2 }] })
  expect(await readDepthState(reads)).toMatchObject({ at: { number: 9 }, isWhole: false })
})

test('is refused for the moment where the tip does not follow', async () => {
  await expect(readDepthState(place({ tips: [9], swaps: [10] }))).rejects.toMatchObject({ code: 'store_unavailable' })
})
