/** The present state of a pool: price, liquidity, value and volume. */
import type { Address } from 'viem'
import { lower } from '../../../ingest/lib/lower.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { NATIVE_CURRENCY, type Network, trustedToken } from '../../../ingest/model/network.ts'
import { DYNAMIC_FEE, type Pool } from '../../../ingest/model/pool.ts'
import { decimalText } from '../../lib/decimal.ts'
import { bucketOf } from '../../query/interval.ts'
import type { BucketCache } from '../cache/bucket-cache.ts'
import { NO_VOLUME } from '../cache/bucket-rows.ts'
import type { Listing } from '../model/listing.ts'
import { ALL_TIME, clampTime } from '../model/windows.ts'
import type { PoolLookups } from './pool-lookups.ts'
import type { BalanceRow, PoolLastSwap, PoolLiquidity, PoolPosition, PoolRows } from './pool-rows.ts'
import type { TopPools } from './top-pools.ts'
import { readVolumes } from './volumes.ts'

export type PoolState = {
  listing: Listing
  /** After the last swap, or as initialised; 0 where neither is stored. */
  sqrtPriceX96: bigint
  /** Hundredths of a bip; of a dynamic fee the last swap's, 0 before the first. */
  fee: number
  /** In range at the price now. */
  liquidity: bigint
  /** Decimal text, since the first indexed block. */
  volumeUsd: string
  /** Swaps, mints and burns. */
  transactions: bigint
  /** Value locked in US dollars, as far as trusted tokens have a price. */
  valueUsd: number
}

/** The cached market data; misses are read from the store. */
export type PoolStore = { cache: BucketCache; rows: PoolRows; pools: PoolLookups }
export type MarketStore = PoolStore & { top: TopPools }

/** In the order of `listings`. */
export async function readPoolStates(store: PoolStore, listings: readonly Listing[]): Promise<readonly PoolState[]> {
  const [volumes, balances, positions, prices] = await Promise.all([
    readVolumes(store.cache, listings, ALL_TIME),
    store.rows.balances(listings),
    store.rows.positions(listings),
    readPrices(store, listings),
  ])
  return listings.map((listing, index): PoolState => {
    const { pool, network } = listing
    const { swap, liquidity } = knownOf(pool, positions[index])
    const { trades, usdMicros } = volumes[index] ?? NO_VOLUME
    return {
      listing,
      sqrtPriceX96: swap === undefined ? pool.initialSqrtPriceX96 : BigInt(swap.sqrt_price),
      fee: pool.fee === DYNAMIC_FEE ? (swap?.fee ?? 0) : pool.fee,
      liquidity: inRange({ swap, liquidity }),
      volumeUsd: decimalText(usdMicros, 6),
      transactions: BigInt(trades) + BigInt(positions[index]?.liquidity?.changes ?? 0),
      valueUsd: worthOf(pool, heldBy(pool, balances[index], liquidity), prices.get(network)),
    }
  })
}

const DAY: UnixSeconds = 86_400

/** Prices of token0 in token1. */
export type DayPrice = {
  /** The last trade; undefined where the pool has not traded. */
  price: number | undefined
  /** 0.01 is 1 %; undefined where there was no price 24 h ago. */
  change: number | undefined
}

export async function readDayPrice(store: PoolStore, listing: Listing, now: UnixSeconds): Promise<DayPrice> {
  const last = await store.cache.closeBefore(listing, now + 1, 'execution')
  return { price: last?.close, change: await readChange(store, listing, { now, seconds: DAY }) }
}

/** The price's change over the last `seconds`: 0.01 is 1 %; undefined where there was no price before. */
export async function readChange(
  { cache }: PoolStore,
  listing: Listing,
  { now, seconds }: { now: UnixSeconds; seconds: number },
): Promise<number | undefined> {
  const [last, before] = await Promise.all([
    cache.closeBefore(listing, now + 1, 'execution'),
    cache.closeBefore(listing, now - seconds, 'execution'),
  ])
  return last && before && last.close / before.close - 1
}

/** Value locked in US dollars. Positions are read only for pools without balances. */
export async function readValues(store: PoolStore, listings: readonly Listing[]): Promise<readonly number[]> {
  const [balances, prices] = await Promise.all([store.rows.balances(listings), readPrices(store, listings)])
  return Promise.all(
    listings.map(async (listing, index) => {
      const [position] = balances[index] === undefined ? await store.rows.positions([listing]) : []
      const { liquidity } = knownOf(listing.pool, position)
      return worthOf(listing.pool, heldBy(listing.pool, balances[index], liquidity), prices.get(listing.network))
    }),
  )
}

/** Ends are rounded, so that consecutive queries share the cached rows. */
const END_SECONDS = 10

/**
 * The average value of each pool over the 24 hours before `to`, in US dollars, weighted by time: tokens that came in during the day count by
 * the share of it that was left, so that liquidity of one block counts nothing. For a v4 pool, or without balances, positions in range count.
 */
export async function readHeld(
  store: PoolStore,
  listings: readonly Listing[],
  to: UnixSeconds,
): Promise<readonly number[]> {
  const end = bucketOf(clampTime(to), END_SECONDS)
  const roots = await Promise.all(
    listings.map(async (listing) => {
      const { token0, token1, initialSqrtPriceX96 } = listing.pool
      const close = await store.cache.closeBefore(listing, end)
      if (close === undefined) return Number(initialSqrtPriceX96) / 2 ** 96
      return Math.sqrt(close.spot_close * 10 ** (token1.decimals - token0.decimals))
    }),
  )
  const [balances, over, prices] = await Promise.all([
    store.rows.balances(listings),
    store.rows.heldOver(listings.map((listing, index) => ({ listing, end, root: roots[index] ?? 0 }))),
    readPrices(store, listings, end),
  ])
  return listings.map(({ pool, network }, index) => {
    const balance = balances[index]
    const known = over[index]
    const raw: [number, number] = balance
      ? [Number(balance.balance0) - (known?.late0 ?? 0), Number(balance.balance1) - (known?.late1 ?? 0)]
      : [known?.held0 ?? 0, known?.held1 ?? 0]
    return Math.max(0, worthOf(pool, inTokens(pool, raw), prices.get(network)))
  })
}

type RangePosition = {
  swap: Pick<PoolLastSwap, 'liquidity'> | undefined
  liquidity: Pick<PoolLiquidity, 'liquidity' | 'liquidity_since'> | undefined
}

const UNKNOWN: PoolPosition = { swap: undefined, liquidity: undefined }

/** Without a price the liquidity in range is undefined. */
function knownOf(pool: Pool, position = UNKNOWN): PoolPosition {
  return position.swap !== undefined || pool.initialSqrtPriceX96 !== 0n ? position : UNKNOWN
}

/** The liquidity at the last swap plus the changes since; before the first swap the sum of all changes. */
export function inRange({ swap, liquidity: changes }: RangePosition): bigint {
  if (swap === undefined) return BigInt(changes?.liquidity ?? 0)
  const liquidity = BigInt(swap.liquidity) + BigInt(changes?.liquidity_since ?? 0)
  // Where blocks in between are not indexed, the burns since may exceed the stored mints.
  return liquidity > 0n ? liquidity : 0n
}

/** Whole tokens. All v4 pools share one contract, so that their amounts are computed from liquidity. */
function heldBy(pool: Pool, balance: BalanceRow | undefined, liquidity: PoolLiquidity | undefined): [number, number] {
  const [raw0, raw1] =
    balance === undefined
      ? [liquidity?.amount0 ?? 0, liquidity?.amount1 ?? 0]
      : [Number(balance.balance0), Number(balance.balance1)]
  return inTokens(pool, [raw0, raw1])
}

function inTokens({ token0, token1 }: Pool, [raw0, raw1]: readonly [number, number]): [number, number] {
  return [raw0 / 10 ** token0.decimals, raw1 / 10 ** token1.decimals]
}

type UsdPrices = ReadonlyMap<Address, number>

function worthOf(pool: Pool, [held0, held1]: [number, number], prices: UsdPrices = new Map()): number {
  const value0 = held0 * (prices.get(pool.token0.address) ?? 0)
  const value1 = held1 * (prices.get(pool.token1.address) ?? 0)
  return value0 + value1
}

/** Dollar prices of tokens on the networks of these pools. */
async function readPrices(
  store: PoolStore,
  listings: readonly Listing[],
  end: UnixSeconds = ALL_TIME.to,
): Promise<ReadonlyMap<Network, UsdPrices>> {
  const networks = [...new Set(listings.map(({ network }) => network))]
  return new Map(
    await Promise.all(
      networks.map(async (network) => [network, await readNetworkPrices(store, network, end)] as const),
    ),
  )
}

/** Stablecoins are $1, other trusted tokens have the last price of their reference pool before `end`; no other token has a price. */
export async function readNetworkPrices(
  { cache, pools }: Omit<PoolStore, 'rows'>,
  network: Network,
  end: UnixSeconds = ALL_TIME.to,
): Promise<UsdPrices> {
  const references = await Promise.all(
    network.referencePools.map(async (reference) => {
      const listing = await pools.on(network.name)?.listing(lower(reference.pool))
      const spot = listing && (await cache.closeBefore(listing, end))?.spot_close
      return { token: reference.token.toLowerCase() as Address, pool: listing?.pool, spot }
    }),
  )
  const prices = new Map<Address, number>()
  for (const token of network.trustedTokens) {
    if (token.role === 'stablecoin') prices.set(token.address.toLowerCase() as Address, 1)
  }
  for (const { token, pool, spot } of references) {
    if (pool === undefined || spot === undefined || spot === 0 || prices.has(token)) continue
    const [other, price] = pool.token0.address === token ? [pool.token1, spot] : [pool.token0, 1 / spot]
    if (trustedToken(network, other.address)?.role === 'stablecoin') prices.set(token, price)
  }
  const native = prices.get(network.wrappedNative.toLowerCase() as Address)
  if (native !== undefined) prices.set(NATIVE_CURRENCY, native)
  return prices
}
