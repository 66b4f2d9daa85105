/** A pool at its newest stored block: price, liquidity in range, and the net liquidity of the ticks around the price. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { ConcurrencyLimit } from '../../lib/concurrency-limit.ts'
import { Problem } from '../../lib/problem.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import type { PoolCoverage } from '../../market/cache/coverage.ts'
import type { PoolAtTip } from '../../market/market.ts'
import type { Listing } from '../../market/model/listing.ts'
import type { PoolLastSwap } from '../../market/pools/pool-rows.ts'
import { inRange } from '../../market/pools/pool-state.ts'
import { tickAtSqrtPrice } from '../../market/pools/tick-math.ts'
import type { InitializedTick, WalkStart } from './swap-walk.ts'

const NET_LIQUIDITY = readSql(new URL('./net-liquidity.sql', import.meta.url))

/** A swap may be stored some milliseconds before its block is the tip, and the tip is shown a second late at the most. */
const TIP_ATTEMPTS = 40
const TIP_WAIT_MS = 50

/** The newest block that is stored completely. */
export type DepthBlock = { number: number; time: UnixSeconds }

export type DepthState = {
  at: DepthBlock
  /** Undefined where neither a swap nor the initial price is stored. */
  start: Omit<WalkStart, 'liquidity'> | undefined
  /** The last stored swap. */
  swap: PoolLastSwap | undefined
  /** All blocks from the pool's first one to `at` are stored. */
  isWhole: boolean
}

/** `range`: of ticks, both included. */
export type DepthRange = { from: number; to: number }

export type DepthMap = { liquidity: bigint; ticks: readonly InitializedTick[] }

/** The tip is read before the swap, so that the last swap up to the tip is known: one above it is waited for. */
export async function readDepthState({ answer, store, coverage }: PoolAtTip): Promise<DepthState> {
  const { listing } = answer.view
  for (let attempt = 1; ; attempt++) {
    const known = await coverage()
    const at = newestOf(known, listing)
    const isWhole = known.gaps.length === 0
    const swap = await store.rows.lastSwap(listing)
    if (!isWhole || Number(swap?.block ?? 0) <= at.number) return { at, start: startOf(listing, swap), swap, isWhole }
    if (attempt === TIP_ATTEMPTS) throw beingWritten()
    await sleep(TIP_WAIT_MS)
  }
}

function newestOf({ tip, backfilled }: PoolCoverage, { created, firstSeen }: Listing): DepthBlock {
  const run = backfilled.at(-1)
  if (tip && tip.number >= (run?.to ?? 0)) return { number: tip.number, time: tip.timestamp }
  return run ? { number: run.to, time: run.toTime } : { number: created ?? 0, time: firstSeen }
}

function startOf({ pool }: Listing, swap: PoolLastSwap | undefined): DepthState['start'] {
  if (swap) return { sqrtPriceX96: BigInt(swap.sqrt_price), tick: swap.pool_tick }
  const { initialSqrtPriceX96: sqrtPriceX96 } = pool
  return sqrtPriceX96 === 0n ? undefined : { sqrtPriceX96, tick: tickAtSqrtPrice(sqrtPriceX96) }
}

type NetRow = { tick: number | null; net: string; gross: string }

/**
 * Undefined where the stored positions are not all that the pool has. One statement over the key (network, pool): its answer has a row for each tick
 * of the range at the most, some 1,030, and its time grows with the pool's mints and burns alone. `limited` bounds how many of them run at once.
 */
export async function readDepthMap(
  { reader, answer }: PoolAtTip,
  { at, start, swap, isWhole }: DepthState,
  range: DepthRange,
  limited: ConcurrencyLimit,
): Promise<DepthMap | undefined> {
  if (!isWhole || start === undefined) return undefined
  const { network, pool } = answer.view.listing
  const rows = await limited(() =>
    queryRows<NetRow>(reader, NET_LIQUIDITY, {
      network: network.name,
      pool: pool.id,
      block: at.number,
      pool_tick: start.tick,
      swap_block: swap?.block ?? 0,
      swap_log_index: swap?.log_index ?? 0,
      ...range,
    }),
  )
  const here = rows.find(({ tick }) => tick === null)
  const sums = { liquidity: here?.net ?? '0', liquidity_since: here?.gross ?? '0' }
  const liquidity = inRange({ swap, liquidity: sums })
  const ticks = rows.flatMap(({ tick, net }) => (tick === null ? [] : [{ tick, net: BigInt(net) }]))
  const isSound = rows.every(({ tick, gross }) => tick === null || !gross.startsWith('-'))
  return isSound && liquidity === BigInt(sums.liquidity) ? { liquidity, ticks } : undefined
}

function beingWritten(): Problem {
  return new Problem(
    'store_unavailable',
    'The newest block of the pool is being written. Ask again in a few seconds.',
    {
      headers: { 'Retry-After': '1' },
    },
  )
}
