/** What a pool is like now: its price, what it holds and is worth, and what it has traded. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Address } from 'viem'
import { NATIVE_CURRENCY, type Network } from '../../ingest/network.ts'
import { DYNAMIC_FEE, type Pool, type PoolId } from '../../ingest/pool.ts'
import { chunksOf, groupBy } from '../group.ts'
import { ask, POOLS_PER_QUESTION, readSql } from '../store.ts'
import type { Catalogue } from './catalogue.ts'
import { type Listing, listingKey, trusted } from './listing.ts'
import { tickAtSqrtPrice } from './tick-math.ts'

export type PoolState = {
  listing: Listing
  /** After the last swap, or as initialised; 0 where neither is known. */
  sqrtPriceX96: bigint
  /** Hundredths of a bip; of a dynamic fee the last swap's, 0 before the first. */
  fee: number
  /** In range at the price now. */
  liquidity: bigint
  /** Decimal text: all that was traded since the first indexed block. */
  volumeUsd: string
  /** Swaps, mints and burns. */
  transactions: bigint
  /** What it holds, in US dollars, as far as trusted tokens price it. */
  valueUsd: number
}

const TOTALS = readSql(new URL('./totals.sql', import.meta.url))
const LAST_SWAPS = readSql(new URL('./last-swaps.sql', import.meta.url))
const LIQUIDITY = readSql(new URL('./liquidity.sql', import.meta.url))
const BALANCES = readSql(new URL('./balances.sql', import.meta.url))

type TotalsRow = { pool: PoolId; trades: string; volume_usd: string; last_day: number }
type SwapRow = {
  pool: PoolId
  block: string
  log_index: number
  sqrt_price: string
  liquidity: string
  pool_tick: number
  fee: number
  spot_price: number
}
type LiquidityRow = {
  pool: PoolId
  changes: string
  liquidity_since: string
  liquidity: string
  amount0: number
  amount1: number
}
type BalanceRow = { pool: PoolId; balance0: string; balance1: string }

/** In the order of `listings`. */
export async function readPoolStates(
  reader: ClickHouseClient,
  catalogue: Catalogue,
  listings: readonly Listing[],
): Promise<readonly PoolState[]> {
  const byNetwork = groupBy(listings, (listing) => listing.network)
  const states = await Promise.all(
    [...byNetwork].flatMap(([network, own]) =>
      chunksOf(own, POOLS_PER_QUESTION).map((chunk) => readNetworkStates(reader, catalogue, network, chunk)),
    ),
  )
  const byListing = new Map(states.flat().map((state) => [state.listing, state]))
  return listings.flatMap((listing) => byListing.get(listing) ?? [])
}

async function readNetworkStates(
  reader: ClickHouseClient,
  catalogue: Catalogue,
  network: Network,
  listings: readonly Listing[],
): Promise<readonly PoolState[]> {
  const ids = listings.map((listing) => listing.pool.id)
  const references = network.referencePools.map((reference) => reference.pool.toLowerCase() as PoolId)
  const [totals, balances] = await Promise.all([
    ask<TotalsRow>(reader, TOTALS, { network: network.name, pools: [...new Set([...ids, ...references])] }),
    ask<BalanceRow>(reader, BALANCES, { network: network.name, pools: ids }),
  ])
  const swaps = await readLastSwaps(reader, network, totals)
  const liquidity = await readLiquidity(reader, network, listings, swaps)
  const facts = {
    totals: byPool(totals),
    balances: byPool(balances),
    liquidity: byPool(liquidity),
    swaps,
    prices: usdPrices(catalogue, network, swaps),
  }
  return listings.map((listing) => stateOf(listing, facts))
}

type Facts = {
  totals: ReadonlyMap<PoolId, TotalsRow>
  balances: ReadonlyMap<PoolId, BalanceRow>
  liquidity: ReadonlyMap<PoolId, LiquidityRow>
  swaps: ReadonlyMap<PoolId, SwapRow>
  prices: ReadonlyMap<Address, number>
}

function stateOf(listing: Listing, facts: Facts): PoolState {
  const { pool } = listing
  const swap = facts.swaps.get(pool.id)
  const totals = facts.totals.get(pool.id)
  const changes = facts.liquidity.get(pool.id)
  const sqrtPriceX96 = swap === undefined ? pool.initialSqrtPriceX96 : BigInt(swap.sqrt_price)
  // Without a price nobody knows what is in range.
  const liquidity = sqrtPriceX96 === 0n ? undefined : changes
  return {
    listing,
    sqrtPriceX96,
    fee: pool.fee === DYNAMIC_FEE ? (swap?.fee ?? 0) : pool.fee,
    liquidity: inRange(swap, liquidity),
    volumeUsd: totals?.volume_usd ?? '0',
    transactions: BigInt(totals?.trades ?? 0) + BigInt(changes?.changes ?? 0),
    valueUsd: worthOf(pool, heldBy(pool, facts.balances.get(pool.id), liquidity), facts.prices),
  }
}

/** What the last swap met and what was put there since; before the first swap all that is known of. */
function inRange(swap: SwapRow | undefined, changes: LiquidityRow | undefined): bigint {
  if (swap === undefined) return BigInt(changes?.liquidity ?? 0)
  const liquidity = BigInt(swap.liquidity) + BigInt(changes?.liquidity_since ?? 0)
  // Where blocks between the two are not indexed, more may have been burnt since than is known to be there.
  return liquidity > 0n ? liquidity : 0n
}

/** Whole tokens. A v4 pool's lie in one contract with all others', so they are worked out from its liquidity. */
function heldBy(pool: Pool, balance: BalanceRow | undefined, liquidity: LiquidityRow | undefined): [number, number] {
  const [raw0, raw1] =
    balance === undefined
      ? [liquidity?.amount0 ?? 0, liquidity?.amount1 ?? 0]
      : [Number(balance.balance0), Number(balance.balance1)]
  return [raw0 / 10 ** pool.token0.decimals, raw1 / 10 ** pool.token1.decimals]
}

function worthOf(pool: Pool, [held0, held1]: [number, number], prices: ReadonlyMap<Address, number>): number {
  const value0 = held0 * (prices.get(pool.token0.address) ?? 0)
  const value1 = held1 * (prices.get(pool.token1.address) ?? 0)
  return value0 + value1
}

/** Stablecoins are $1, volatile trusted tokens what their reference pool last said; nothing else has a price. */
function usdPrices(
  catalogue: Catalogue,
  network: Network,
  swaps: ReadonlyMap<PoolId, SwapRow>,
): ReadonlyMap<Address, number> {
  const prices = new Map<Address, number>()
  for (const token of network.trustedTokens) {
    if (token.role === 'stablecoin') prices.set(token.address.toLowerCase() as Address, 1)
  }
  for (const reference of network.referencePools) {
    const id = reference.pool.toLowerCase() as PoolId
    const token = reference.token.toLowerCase() as Address
    const pool = catalogue.pools.get(listingKey(network.name, id))?.pool
    const spot = swaps.get(id)?.spot_price
    if (pool === undefined || spot === undefined || spot === 0 || prices.has(token)) continue
    const [other, price] = pool.token0.address === token ? [pool.token1, spot] : [pool.token0, 1 / spot]
    if (trusted(network, other.address)?.role === 'stablecoin') prices.set(token, price)
  }
  const native = prices.get(network.wrappedNative.toLowerCase() as Address)
  if (native !== undefined) prices.set(NATIVE_CURRENCY, native)
  return prices
}

/** One question for each day on which some of the pools were last traded: no pool's history is read to find its end. */
async function readLastSwaps(
  reader: ClickHouseClient,
  network: Network,
  totals: readonly TotalsRow[],
): Promise<ReadonlyMap<PoolId, SwapRow>> {
  const byDay = groupBy(totals, (row) => row.last_day)
  const rows = await Promise.all(
    [...byDay].map(([day, group]) =>
      ask<SwapRow>(reader, LAST_SWAPS, { network: network.name, pools: group.map((row) => row.pool), day }),
    ),
  )
  return byPool(rows.flat())
}

async function readLiquidity(
  reader: ClickHouseClient,
  network: Network,
  listings: readonly Listing[],
  swaps: ReadonlyMap<PoolId, SwapRow>,
): Promise<readonly LiquidityRow[]> {
  const places = listings.map(({ pool }) => {
    const swap = swaps.get(pool.id)
    const sqrtPrice = swap === undefined ? pool.initialSqrtPriceX96 : BigInt(swap.sqrt_price)
    return { pool: pool.id, sqrtPrice, tick: swap?.pool_tick ?? tickAtSqrtPrice(sqrtPrice), swap }
  })
  return ask<LiquidityRow>(reader, LIQUIDITY, {
    network: network.name,
    pools: places.map((place) => place.pool),
    pool_ticks: places.map((place) => place.tick),
    roots: places.map((place) => Number(place.sqrtPrice) / 2 ** 96),
    blocks: places.map((place) => Number(place.swap?.block ?? 0)),
    log_indexes: places.map((place) => place.swap?.log_index ?? 0),
  })
}

function byPool<Row extends { pool: PoolId }>(rows: readonly Row[]): ReadonlyMap<PoolId, Row> {
  return new Map(rows.map((row) => [row.pool, row]))
}
