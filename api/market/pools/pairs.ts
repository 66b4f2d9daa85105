/** The pairs that the page lists, each with its price, its 24 h change and volume, and the value of its pools. */
import type { Address } from 'viem'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { NATIVE_CURRENCY, type Network, type NetworkName } from '../../../ingest/model/network.ts'
import type { Token } from '../../../ingest/model/pool.ts'
import { groupBy } from '../../lib/group.ts'
import { NO_VOLUME } from '../cache/bucket-rows.ts'
import { isListed, type Listing, shownSymbol } from '../model/listing.ts'
import { type Catalogue, pairKey, tokenKey } from './catalogue.ts'
import { type MarketStore, readChange, readDayPrice, readHeld, readValues } from './pool-state.ts'
import { readVolumes } from './volumes.ts'

/** In the order of the lead pool, whose price it is. */
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
}

/** A pair can have any number of v4 pools: v3 pools count first, then the oldest. */
const MAX_POOLS_OF_PAIR = 16
const MAX_POOLS_OF_TOKEN = 100

const DAY = 86_400
const HOUR = 3_600

/** Pools of trusted pairs, by index: the number of reads grows with the curated lists, not with the catalogue. */
export function listedPools(catalogue: Catalogue): readonly Listing[] {
  return [...catalogue.networks.values()].flatMap((network) => {
    const addresses = [NATIVE_CURRENCY, ...network.trustedTokens.map(({ address }) => lower(address))].toSorted()
    return addresses.flatMap((token0, index) =>
      addresses.slice(index + 1).flatMap((token1) => {
        const pools = catalogue.pairs.get(pairKey(network.name, token0, token1)) ?? []
        return pools.length <= MAX_POOLS_OF_PAIR ? pools : pools.toSorted(byAge).slice(0, MAX_POOLS_OF_PAIR)
      }),
    )
  })
}

export function poolsOfToken({ networks, tokens }: Catalogue, token: Address): readonly Listing[] {
  const pools = [...networks.keys()].flatMap((network) => tokens.get(tokenKey(network, token)) ?? [])
  return pools.length <= MAX_POOLS_OF_TOKEN ? pools : pools.toSorted(byAge).slice(0, MAX_POOLS_OF_TOKEN)
}

/** By volume, which counts up to the value held over the day, since wash trading is free. */
export async function readPairs(
  store: MarketStore,
  listings: readonly Listing[],
  now: UnixSeconds,
): Promise<readonly PairSummary[]> {
  const [volumes, values, held] = await Promise.all([
    readVolumes(store.cache, listings, { from: now - DAY, to: now + 1 }),
    readValues(store, listings),
    readHeld(store, listings, now),
  ])
  const pools = listings.map((listing, index) => ({
    listing,
    volumeUsd: Number((volumes[index] ?? NO_VOLUME).usdMicros) / 1e6,
    valueUsd: values[index] ?? 0,
    heldUsd: held[index] ?? 0,
  }))
  const pairs = [...groupBy(pools, ({ listing }) => groupOf(listing)).values()]
  const rows = await Promise.all(
    pairs.map(async (group) => {
      const [lead] = group.toSorted((one, other) => other.heldUsd - one.heldUsd || other.valueUsd - one.valueUsd)
      if (lead === undefined) return []
      const { listing } = lead
      const sum = (of: (pool: (typeof pools)[number]) => number) => group.reduce((total, pool) => total + of(pool), 0)
      const summary: PairSummary = {
        symbols: symbolsOf(listing),
        tokens: [listing.pool.token0, listing.pool.token1],
        network: listing.network.name,
        pool: listing.pool.id,
        isListed: bothListed(listing),
        ...(await readDayPrice(store, listing, now)),
        change1h: await readChange(store, listing, { now, seconds: HOUR }),
        change5m: await readChange(store, listing, { now, seconds: 300 }),
        volumeUsd: sum(({ volumeUsd }) => volumeUsd),
        valueUsd: sum(({ valueUsd }) => valueUsd),
      }
      return [{ summary, counted: sum(({ volumeUsd, heldUsd }) => Math.min(volumeUsd, heldUsd)) }]
    }),
  )
  return rows
    .flat()
    .toSorted((one, other) => other.counted - one.counted || other.summary.valueUsd - one.summary.valueUsd)
    .map(({ summary }) => summary)
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

function lower(address: Address): Address {
  return address.toLowerCase() as Address
}
