/** Balances, positions and held amounts of pools, cached until a write touches the pool. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { Network, NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { groupBy } from '../../lib/group.ts'
import { type KeyedLookup, openLookup } from '../../lib/lookup.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import { bucketOf } from '../../query/interval.ts'
import type { TimeRange } from '../../query/time-range.ts'
import type { BucketCache } from '../cache/bucket-cache.ts'
import type { Listing } from '../model/listing.ts'
import { type HeldOver, type HeldRequest, isSameRequest, readHeldOver } from './held-rows.ts'
import { tickAtSqrtPrice } from './tick-math.ts'

const LAST_SWAPS = readSql(new URL('./last-swaps.sql', import.meta.url))
const LIQUIDITY = readSql(new URL('./liquidity.sql', import.meta.url))
const BALANCES = readSql(new URL('./balances.sql', import.meta.url))

const DAY = 86_400

/** For each kind of row and network: a client can query every pool there is. */
const MAX_ROWS = 20_000

/** Bounds the queries for a pool that has candles and no ticks in its last hours. */
const MAX_LAST_HOURS = 50

/** Raw units, as decimal text. */
export type BalanceRow = { pool: PoolId; balance0: string; balance1: string }

export type PoolLastSwap = {
  pool: PoolId
  block: string
  log_index: number
  sqrt_price: string
  liquidity: string
  pool_tick: number
  fee: number
}

/** The sum of mints and burns; amounts are raw, at the price after the last swap. */
export type PoolLiquidity = {
  pool: PoolId
  changes: string
  liquidity_since: string
  liquidity: string
  amount0: number
  amount1: number
}

export type PoolPosition = { swap: PoolLastSwap | undefined; liquidity: PoolLiquidity | undefined }

export type PoolRows = {
  /** Undefined where no mints or burns are stored; in the order of the requests. */
  heldOver(requests: readonly HeldRequest[]): Promise<readonly (HeldOver | undefined)[]>
  /** Undefined for v4 pools, and before the first read of a balance; in the order of `listings`. */
  balances(listings: readonly Listing[]): Promise<readonly (BalanceRow | undefined)[]>
  /** Undefined before the first swap. Reads no mints and burns, of which a pool may have millions. */
  lastSwap(listing: Listing): Promise<PoolLastSwap | undefined>
  /** In the order of `listings`. */
  positions(listings: readonly Listing[]): Promise<readonly PoolPosition[]>
  /** Without pools: all of the network. */
  evict(network: NetworkName, pools?: Iterable<PoolId>): void
}

type Kinds = {
  balances: KeyedLookup<Listing, BalanceRow | undefined>
  swaps: KeyedLookup<Listing, PoolLastSwap | undefined>
  positions: KeyedLookup<Listing, PoolPosition>
  over: KeyedLookup<HeldRequest, HeldOver | undefined>
}

/** A reloaded listing may have another initial price, so that its row is read again. */
const BY_LISTING = {
  nameOf: (listing: Listing) => listing.pool.id,
  isSame: (one: Listing, other: Listing) => one === other,
  maxValues: MAX_ROWS,
}

/** `cache` finds the day of a pool's last trade. */
export function openPoolRows(reader: ClickHouseClient, cache: BucketCache): PoolRows {
  const byNetwork = new Map<NetworkName, Kinds>()

  function kindsOf(network: Network): Kinds {
    const known = byNetwork.get(network.name)
    if (known) return known
    const kinds = {
      balances: openLookup({ load: (listings) => readBalances(reader, network, listings), ...BY_LISTING }),
      swaps: openLookup({
        async load(listings) {
          const swaps = await readLastSwaps(reader, cache, network, listings)
          return listings.map(({ pool }) => swaps.get(pool.id))
        },
        ...BY_LISTING,
      }),
      positions: openLookup({ load: (listings) => readPositions(reader, cache, network, listings), ...BY_LISTING }),
      over: openLookup<HeldRequest, HeldOver | undefined>({
        load: (requests) => readHeldOver(reader, network.name, requests),
        nameOf: ({ listing }) => listing.pool.id,
        isSame: isSameRequest,
        maxValues: MAX_ROWS,
      }),
    }
    byNetwork.set(network.name, kinds)
    return kinds
  }

  return {
    balances: (listings) => Promise.all(listings.map((one) => kindsOf(one.network).balances.get(one))),
    heldOver: (requests) => Promise.all(requests.map((one) => kindsOf(one.listing.network).over.get(one))),
    lastSwap: (listing) => kindsOf(listing.network).swaps.get(listing),
    positions: (listings) => Promise.all(listings.map((one) => kindsOf(one.network).positions.get(one))),
    evict(network, pools) {
      for (const rows of Object.values(byNetwork.get(network) ?? {})) {
        if (pools === undefined) rows.evictAll()
        else for (const pool of pools) rows.evict(pool)
      }
    },
  }
}

async function readBalances(reader: ClickHouseClient, network: Network, listings: readonly Listing[]) {
  const rows = byPool(await queryRows<BalanceRow>(reader, BALANCES, { network: network.name, pools: idsOf(listings) }))
  return listings.map(({ pool }) => rows.get(pool.id))
}

async function readPositions(
  reader: ClickHouseClient,
  cache: BucketCache,
  network: Network,
  listings: readonly Listing[],
): Promise<readonly PoolPosition[]> {
  const swaps = await readLastSwaps(reader, cache, network, listings)
  const liquidity = byPool(await readLiquidity(reader, network, listings, swaps))
  return listings.map(({ pool }) => ({ swap: swaps.get(pool.id), liquidity: liquidity.get(pool.id) }))
}

type LastHour = { listing: Listing; hour: TimeRange }

/** During a rollback the candles of an hour are there for a moment longer than its ticks: the hours before it have the last swap then. */
async function readLastSwaps(
  reader: ClickHouseClient,
  cache: BucketCache,
  network: Network,
  listings: readonly Listing[],
): Promise<ReadonlyMap<PoolId, PoolLastSwap>> {
  const found = new Map<PoolId, PoolLastSwap>()
  let missing: readonly { listing: Listing; before?: UnixSeconds }[] = listings.map((listing) => ({ listing }))
  for (let hours = 0; hours < MAX_LAST_HOURS && missing.length > 0; hours++) {
    const traded = await Promise.all(
      missing.map(async ({ listing, before }) => ({ listing, hour: await cache.lastHour(listing, before) })),
    )
    const known = traded.flatMap(({ listing, hour }) => (hour ? { listing, hour } : []))
    for (const swap of await readSwapsIn(reader, network, known)) found.set(swap.pool, swap)
    missing = known
      .filter(({ listing }) => !found.has(listing.pool.id))
      .map(({ listing, hour }) => ({ listing, before: hour.from }))
  }
  return found
}

/** One query for each day of last trades: no pool's history is scanned for its end. */
async function readSwapsIn(
  reader: ClickHouseClient,
  network: Network,
  traded: readonly LastHour[],
): Promise<readonly PoolLastSwap[]> {
  const byDay = groupBy(traded, ({ hour }) => bucketOf(hour.from, DAY))
  const rows = await Promise.all(
    [...byDay.values()].map((group) =>
      queryRows<PoolLastSwap>(reader, LAST_SWAPS, {
        network: network.name,
        pools: group.map(({ listing }) => listing.pool.id),
        from: Math.min(...group.map(({ hour }) => hour.from)),
        to: Math.max(...group.map(({ hour }) => hour.to)),
      }),
    ),
  )
  return rows.flat()
}

function readLiquidity(
  reader: ClickHouseClient,
  network: Network,
  listings: readonly Listing[],
  swaps: ReadonlyMap<PoolId, PoolLastSwap>,
): Promise<readonly PoolLiquidity[]> {
  const places = listings.map(({ pool }) => {
    const swap = swaps.get(pool.id)
    const sqrtPrice = swap === undefined ? pool.initialSqrtPriceX96 : BigInt(swap.sqrt_price)
    return { sqrtPrice, tick: swap?.pool_tick ?? tickAtSqrtPrice(sqrtPrice), swap }
  })
  return queryRows<PoolLiquidity>(reader, LIQUIDITY, {
    network: network.name,
    pools: idsOf(listings),
    pool_ticks: places.map((place) => place.tick),
    roots: places.map((place) => Number(place.sqrtPrice) / 2 ** 96),
    blocks: places.map((place) => Number(place.swap?.block ?? 0)),
    log_indexes: places.map((place) => place.swap?.log_index ?? 0),
  })
}

function idsOf(listings: readonly Listing[]): readonly PoolId[] {
  return listings.map(({ pool }) => pool.id)
}

function byPool<Row extends { pool: PoolId }>(rows: readonly Row[]): ReadonlyMap<PoolId, Row> {
  return new Map(rows.map((row) => [row.pool, row]))
}
