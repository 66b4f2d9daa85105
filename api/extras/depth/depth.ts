/** GET /v0/depth: how much must be bought or sold in one pool to move its price by some per cent. */
import { spotPrice } from '../../../ingest/pricing/price.ts'
import type { Accounts } from '../../accounts/accounts.ts'
import type { AccountHandler } from '../../http/authenticate.ts'
import { sendAnswer, setMarket } from '../../http/headers.ts'
import { coalesced } from '../../lib/coalesced.ts'
import { type ConcurrencyLimit, limitConcurrency } from '../../lib/concurrency-limit.ts'
import { knownCost } from '../../market/answer.ts'
import { newestStored } from '../../market/cache/coverage.ts'
import type { Market, PoolAtTip } from '../../market/market.ts'
import { listingKey } from '../../market/model/listing.ts'
import { type PairView, viewPrice } from '../../market/model/orientation.ts'
import { readNetworkPrices } from '../../market/pools/pool-state.ts'
import { parametersOf } from '../../query/parameters.ts'
import { formatTime } from '../../query/time.ts'
import { type DepthState, readDepthMap, readDepthState } from './depth-state.ts'
import { type DepthLevel, levelsOf, rangeOf, targetsOf } from './levels.ts'
import { readDepthQuery } from './operation.ts'
import { tickSpacingOf } from './tick-spacing.ts'

export type DepthBody = {
  /** Spot, quote per base; null where no price of the pool is stored. */
  price: number | null
  time: string
  block: number
  /** False where positions of the pool may be missing: `levels` is empty then. */
  isComplete: boolean
  levels: readonly DepthLevel[]
}

/**
 * Bounds: one answer a pool, direction and block is computed for all requests of a second, and two statements run at once in a process, each with one
 * thread and a row for each tick in range. A pool with millions of mints and burns ends at the time limit of the store's user, as a 503.
 */
const SHARED_MS = 1_000
const MAX_SHARED = 100
const STATEMENTS = { maxRunning: 2, maxQueued: 64, maxWaitMs: 5_000 }

export function getDepth(market: Market, accounts: Accounts): AccountHandler {
  const shared = coalesced<DepthBody>(SHARED_MS, MAX_SHARED)
  const limited = limitConcurrency(STATEMENTS)
  return async function depth(account, req, res) {
    const query = readDepthQuery(parametersOf(req))
    const { answer, data, cost } = await accounts.charge(account, knownCost(query), async () => {
      const place = await market.atTip(query)
      const { listing, forward } = place.answer.view
      const newest = newestStored(await place.coverage())
      const key = `${listingKey(listing.network.name, listing.pool.id)} ${forward} ${newest}`
      const data = await shared(key, () => readDepth(place, limited))
      return { answer: place.answer, data, cost: place.answer.cost }
    })
    setMarket(res, answer)
    sendAnswer(res, { data, credits_used: cost }, false)
  }
}

async function readDepth(place: PoolAtTip, limited: ConcurrencyLimit): Promise<DepthBody> {
  const state = await readDepthState(place)
  const levels = await readLevels(place, state, limited)
  const { view } = place.answer
  return {
    price: state.start ? priceOf(view, state.start.sqrtPriceX96) : null,
    time: formatTime(state.at.time),
    block: state.at.number,
    isComplete: levels !== undefined,
    levels: levels ?? [],
  }
}

function priceOf({ listing: { pool }, forward }: PairView, sqrtPriceX96: bigint): number {
  return viewPrice(
    forward,
    spotPrice(sqrtPriceX96, { decimals0: pool.token0.decimals, decimals1: pool.token1.decimals }),
  )
}

/** Undefined where positions may be missing. */
async function readLevels(
  place: PoolAtTip,
  state: DepthState,
  limited: ConcurrencyLimit,
): Promise<readonly DepthLevel[] | undefined> {
  const { start } = state
  if (start === undefined) return undefined
  const { listing, forward } = place.answer.view
  const targets = targetsOf(start.sqrtPriceX96, forward)
  const map = await readDepthMap(place, state, rangeOf(targets), limited)
  if (map === undefined) return undefined
  const prices = await readNetworkPrices(place.store, listing.network)
  const { pool } = listing
  const spacing = tickSpacingOf(pool)
  return levelsOf(start, map, targets, { pool, forward, spacing, usdOf: ({ address }) => prices.get(address) })
}
