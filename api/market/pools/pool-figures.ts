/** Pools with their figures of the last day: the pools of trusted tokens, or those of one token. */
import type { Address } from 'viem'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { NO_VOLUME } from '../cache/bucket-rows.ts'
import { isListed, type Listing, listedTokens } from '../model/listing.ts'
import { pricedTokens } from './new-pools.ts'
import { ANY_TOKEN, addressSet, fewPools, type PairSearch } from './pair-search.ts'
import { poolOn } from './pool-lookups.ts'
import { type MarketStore, readChange, readDayPrice, readHeld, readValues } from './pool-state.ts'
import { NO_SIDES, type Sides, type SidesByPool } from './sides.ts'
import { CROWDED } from './top-pools.ts'
import { readVolumes } from './volumes.ts'

/** Times over which a change of the price is known. */
export const CHANGE_PERIODS = { '5m': 300, '1h': 3_600, '24h': 86_400 } as const
export type ChangePeriod = keyof typeof CHANGE_PERIODS

/** In the order of the pool's tokens. Volume, trades, and sides are of the last 24 h. */
export type PoolFigures = {
  listing: Listing
  trades: number
  usdMicros: bigint
  volumeUsd: number
  valueUsd: number
  /** On average over the day. */
  heldUsd: number
  /** Price of the first token in the second; undefined where the pool has not traded. */
  price: number | undefined
  /** Change of the price: 0.01 is 1 %; undefined where there was no price before. */
  changes: Readonly<Record<ChangePeriod, number | undefined>>
  /** Undefined where the swaps were not counted. */
  sides: Sides | undefined
}

/** A pair can have any number of v4 pools, and a token any number of pairs. */
const MAX_POOLS_OF_PAIR = 16
const MAX_POOLS_OF_TOKEN = 100

const DAY = 86_400

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

/** Pools of a token that is not trusted, on all networks. */
export async function poolsOfToken(store: MarketStore, token: Address): Promise<readonly Listing[]> {
  const found = await Promise.all(
    store.pools.networks.map((network) =>
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

/** In the order of `listings`. Sides are those of pools without trades. */
export async function readFigures(
  store: MarketStore,
  listings: readonly Listing[],
  now: UnixSeconds,
): Promise<readonly PoolFigures[]> {
  const [volumes, values, held, prices] = await Promise.all([
    readVolumes(store.cache, listings, { from: now - DAY, to: now + 1 }),
    readValues(store, listings),
    readHeld(store, listings, now),
    Promise.all(listings.map((listing) => readPrices(store, listing, now))),
  ])
  return listings.flatMap((listing, index) => {
    const { trades, usdMicros } = volumes[index] ?? NO_VOLUME
    const priced = prices[index]
    if (priced === undefined) return []
    return {
      listing,
      trades,
      usdMicros,
      volumeUsd: Number(usdMicros) / 1e6,
      valueUsd: values[index] ?? 0,
      heldUsd: held[index] ?? 0,
      ...priced,
      sides: trades === 0 ? NO_SIDES : undefined,
    }
  })
}

export function withSides(figures: readonly PoolFigures[], sides: SidesByPool): readonly PoolFigures[] {
  return figures.map((one) => ({ ...one, sides: sides.get(one.listing) ?? one.sides }))
}

async function readPrices(
  store: MarketStore,
  listing: Listing,
  now: UnixSeconds,
): Promise<Pick<PoolFigures, 'price' | 'changes'>> {
  const over = (period: ChangePeriod) => readChange(store, listing, { now, seconds: CHANGE_PERIODS[period] })
  const [day, change1h, change5m] = await Promise.all([readDayPrice(store, listing, now), over('1h'), over('5m')])
  return { price: day.price, changes: { '24h': day.change, '1h': change1h, '5m': change5m } }
}

/** Both tokens are trusted, so that their symbols name the pair. */
export function areListed({ network, pool }: Listing): boolean {
  return isListed(network, pool.token0.address) && isListed(network, pool.token1.address)
}

function byAge(one: Listing, other: Listing): number {
  const rank = ({ pool }: Listing) => (pool.protocol === 'dex-v3' ? 0 : 1)
  return rank(one) - rank(other) || (one.created ?? 0) - (other.created ?? 0)
}
