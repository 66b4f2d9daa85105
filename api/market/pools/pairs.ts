/** The pairs and new pools that the page lists, each with its price, its 24 h change and volume, its swaps by side, and its value. */
import type { Address } from 'viem'
import { lower } from '../../../ingest/lib/lower.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { Network, NetworkName } from '../../../ingest/model/network.ts'
import type { Token } from '../../../ingest/model/pool.ts'
import { groupBy } from '../../lib/group.ts'
import { NO_VOLUME } from '../cache/bucket-rows.ts'
import { isListed, type Listing, listedTokens, shownSymbol } from '../model/listing.ts'
import { pricedTokens } from './new-pools.ts'
import { ANY_TOKEN, addressSet, fewPools, type PairSearch } from './pair-search.ts'
import { poolOn } from './pool-lookups.ts'
import { type MarketStore, readChange, readDayPrice, readHeld, readValues } from './pool-state.ts'
import { NO_SIDES, type SidesByPool } from './sides.ts'
import { CROWDED } from './top-pools.ts'
import { readVolumes } from './volumes.ts'

/** Price and tokens are in the order of the pair. The price is the lead pool's. */
export type PairSummary = {
  symbols: readonly [string, string]
  tokens: readonly [Token, Token]
  network: NetworkName
  pool: string
  /** Both tokens are trusted, so that the symbols name the pair. */
  isListed: boolean
  /** Price of the first token in the second; undefined where the pool has not traded. */
  price: number | undefined
  /** Over the last 24 h: 0.01 is 1 %; undefined where there was no price before. */
  change: number | undefined
  change1h: number | undefined
  change5m: number | undefined
  /** Over the last 24 h, in all of the pair's pools. */
  volumeUsd: number
  /** Held by all of the pair's pools. */
  valueUsd: number
  /** Swaps of the last 24 h that gave the taker the first token, in all of the pair's pools; undefined where they were not counted. */
  buys: number | undefined
  sells: number | undefined
}

export type NewPool = PairSummary & { firstSeen: UnixSeconds }

/** A pair can have any number of v4 pools, and a token any number of pairs. */
const MAX_POOLS_OF_PAIR = 16
const MAX_POOLS_OF_TOKEN = 100

const DAY = 86_400
const HOUR = 3_600

/** Pools of trusted pairs: the number of reads grows with the curated lists, not with the pools. */
export async function listedPools(store: MarketStore): Promise<readonly Listing[]> {
  const pairs = store.pools.networks.flatMap((network) => {
    const addresses = listedTokens(network).toSorted()
    return addresses.flatMap((token0, index) =>
      addresses
        .slice(index + 1)
        .map((token1) => ({ network, base: addressSet([token0]), quote: addressSet([token1]) })),
    )
  })
  const found = await Promise.all(pairs.map((pair) => firstPools(store, pair, MAX_POOLS_OF_PAIR)))
  return found.flat()
}

/** Pools of a token. A trusted token's pools count only with another trusted token: anyone can pair it with tokens of their own. */
export async function poolsOfToken(store: MarketStore, token: Address): Promise<readonly Listing[]> {
  const { networks } = store.pools
  if (networks.some((network) => isListed(network, token)))
    return (await listedPools(store)).filter(({ pool }) => [pool.token0.address, pool.token1.address].includes(token))
  const found = await Promise.all(
    networks.map((network) =>
      firstPools(store, { network, base: addressSet([token]), quote: ANY_TOKEN }, MAX_POOLS_OF_TOKEN),
    ),
  )
  return found.flat().slice(0, MAX_POOLS_OF_TOKEN)
}

/** The most valuable pools of a crowded pair; else v3 pools first, then the oldest. */
async function firstPools(store: MarketStore, search: PairSearch, limit: number): Promise<readonly Listing[]> {
  const few = (await fewPools(store.pools, search, Math.max(CROWDED, limit)))?.map(({ listing }) => listing)
  if (few) return few.length <= limit ? few : few.toSorted(byAge).slice(0, limit)
  const { byValue } = await store.top.read(search, () => pricedTokens(store, search.network))
  const first = byValue.slice(0, limit).map(({ pool }) => poolOn(store.pools, pool, [search.network.name]))
  return (await Promise.all(first)).flat()
}

/** A pool's figures of the last 24 h. */
export type PoolFigures = {
  listing: Listing
  trades: number
  volumeUsd: number
  valueUsd: number
  /** On average over the day. */
  heldUsd: number
}

/** In the order of `listings`. */
export async function readFigures(
  store: MarketStore,
  listings: readonly Listing[],
  now: UnixSeconds,
): Promise<readonly PoolFigures[]> {
  const [volumes, values, held] = await Promise.all([
    readVolumes(store.cache, listings, { from: now - DAY, to: now + 1 }),
    readValues(store, listings),
    readHeld(store, listings, now),
  ])
  return listings.map((listing, index) => {
    const { trades, usdMicros } = volumes[index] ?? NO_VOLUME
    const volumeUsd = Number(usdMicros) / 1e6
    return { listing, trades, volumeUsd, valueUsd: values[index] ?? 0, heldUsd: held[index] ?? 0 }
  })
}

/** By volume, which counts up to the value held over the day, since wash trading is free. */
export async function summarizePairs(
  store: MarketStore,
  pools: readonly PoolFigures[],
  now: UnixSeconds,
  sides: SidesByPool = new Map(),
): Promise<readonly PairSummary[]> {
  const groups = [...groupBy(pools, ({ listing }) => groupOf(listing)).values()]
  const rows = await Promise.all(
    groups.map(async (group) => ({
      summary: await summarize(store, group, now, sides),
      counted: sumOf(group, ({ volumeUsd, heldUsd }) => Math.min(volumeUsd, heldUsd)),
    })),
  )
  return rows
    .toSorted((one, other) => other.counted - one.counted || other.summary.valueUsd - one.summary.valueUsd)
    .map(({ summary }) => summary)
}

/** Each pool is a row of its own, newest first. */
export async function summarizeNewPools(
  store: MarketStore,
  pools: readonly PoolFigures[],
  now: UnixSeconds,
  sides: SidesByPool,
): Promise<readonly NewPool[]> {
  const rows = await Promise.all(
    pools.map(async (pool) => ({
      ...(await summarize(store, [pool], now, sides)),
      firstSeen: pool.listing.firstSeen,
    })),
  )
  return rows.toSorted((one, other) => other.firstSeen - one.firstSeen)
}

/** `group` has a pool at least. */
async function summarize(
  store: MarketStore,
  group: readonly PoolFigures[],
  now: UnixSeconds,
  sides: SidesByPool,
): Promise<PairSummary> {
  const [lead] = group.toSorted((one, other) => other.heldUsd - one.heldUsd || other.valueUsd - one.valueUsd)
  if (lead === undefined) throw new RangeError('A pair without pools has no figures.')
  const { listing } = lead
  const symbols = symbolsOf(listing)
  return {
    symbols,
    tokens: [listing.pool.token0, listing.pool.token1],
    network: listing.network.name,
    pool: listing.pool.id,
    isListed: bothListed(listing),
    ...(await readDayPrice(store, listing, now)),
    change1h: await readChange(store, listing, { now, seconds: HOUR }),
    change5m: await readChange(store, listing, { now, seconds: 300 }),
    volumeUsd: sumOf(group, ({ volumeUsd }) => volumeUsd),
    valueUsd: sumOf(group, ({ valueUsd }) => valueUsd),
    ...sidesOf(group, symbols, sides),
  }
}

/** In the order of the lead pool: others of the pair may have the tokens the other way round. Undefined where a pool was not counted. */
function sidesOf(
  group: readonly PoolFigures[],
  [first]: readonly [string, string],
  sides: SidesByPool,
): Pick<PairSummary, 'buys' | 'sells'> {
  const counts = group.map(({ listing, trades }) => {
    const counted = sides.get(listing) ?? (trades === 0 ? NO_SIDES : undefined)
    const isForward = symbolsOf(listing)[0] === first
    return counted && (isForward ? counted : { buys: counted.sells, sells: counted.buys })
  })
  const known = counts.filter((count) => count !== undefined)
  if (known.length < counts.length) return { buys: undefined, sells: undefined }
  return { buys: sumOf(known, ({ buys }) => buys), sells: sumOf(known, ({ sells }) => sells) }
}

function sumOf<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}

/** Symbols of unlisted tokens can be copied, so that each of their pools is a pair of its own. */
function groupOf(listing: Listing): string {
  return bothListed(listing) ? symbolsOf(listing).toSorted().join(' ') : `${listing.network.name} ${listing.pool.id}`
}

/** The native currency and its wrapped form have one symbol. */
function symbolsOf({ network, pool }: Listing): readonly [string, string] {
  return [symbolOf(network, pool.token0), symbolOf(network, pool.token1)]
}

function symbolOf(network: Network, token: Token): string {
  const isWrapped = token.address === lower(network.wrappedNative)
  return isWrapped ? network.nativeSymbol : shownSymbol(network, token)
}

function bothListed({ network, pool }: Listing): boolean {
  return isListed(network, pool.token0.address) && isListed(network, pool.token1.address)
}

function byAge(one: Listing, other: Listing): number {
  const rank = ({ pool }: Listing) => (pool.protocol === 'dex-v3' ? 0 : 1)
  return rank(one) - rank(other) || (one.created ?? 0) - (other.created ?? 0)
}
