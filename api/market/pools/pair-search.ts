/** The pools of a network between two sets of tokens: found one by one where they are few, else only counted. */
import type { Address } from 'viem'
import type { Listing } from '../model/listing.ts'
import type { ReadonlyNetworkPools } from './network-pools.ts'

/** Tokens that one symbol names: a few listed ones, or all with that symbol on chain. */
export type TokenSet = {
  size: number
  has(token: Address): boolean
  values(): readonly Address[]
  /** Lower case; empty where addresses name the tokens. */
  symbol: string
}

export type PairSearch = { pools: ReadonlyNetworkPools; base: TokenSet; quote: TokenSet }

/** `forward`: the pair is in the pool's own order. */
export type Match = { listing: Listing; forward: boolean }

/** Tokens, pairs of tokens and pools that a search looks at one by one. */
const MAX_STEPS = 1_000

export function addressSet(addresses: readonly Address[]): TokenSet {
  const set = new Set(addresses)
  return { size: set.size, has: (token) => set.has(token), values: () => [...set], symbol: '' }
}

/** `symbol`: lower case. Copies no token before `values` is asked for: any number of tokens can have one symbol. */
export function symbolSet(pools: ReadonlyNetworkPools, symbol: string): TokenSet {
  return {
    size: pools.countOfSymbol(symbol),
    has: (token) => pools.isCalled(token, symbol),
    values: () => pools.tokensOf(symbol),
    symbol,
  }
}

/** As the other side of a search: all pools of the first one. */
export const ANY_TOKEN: TokenSet = { size: Number.POSITIVE_INFINITY, has: () => true, values: () => [], symbol: '' }

/** Undefined where the pool is none of the search. */
export function matchIn({ base, quote }: PairSearch, listing: Listing): Match | undefined {
  const { token0, token1 } = listing.pool
  if (base.has(token0.address) && quote.has(token1.address)) return { listing, forward: true }
  if (base.has(token1.address) && quote.has(token0.address)) return { listing, forward: false }
  return undefined
}

/** All pools of the search; undefined where there are more than `limit`, or it takes too many steps to tell. */
export function fewPools(search: PairSearch, limit: number): readonly Match[] | undefined {
  const listings = fewListings(search, limit)
  return listings?.flatMap((listing) => matchIn(search, listing) ?? [])
}

function fewListings({ pools, base, quote }: PairSearch, limit: number): readonly Listing[] | undefined {
  if (base.size * quote.size <= MAX_STEPS) {
    if (countPools({ pools, base, quote }) > limit) return undefined
    return pairsOf(base, quote).flatMap(([one, other]) => pools.ofPair(one, other))
  }
  const fewer = base.size < quote.size ? base : quote
  if (fewer.size > MAX_STEPS) return undefined
  const tokens = fewer.values()
  if (tokens.reduce((sum, token) => sum + pools.countOfToken(token), 0) > MAX_STEPS) return undefined
  const listings = tokens.flatMap((token) => pools.ofToken(token)).filter((one) => matchIn({ pools, base, quote }, one))
  return listings.length > limit ? undefined : listings
}

/** For a search of at most MAX_STEPS pairs of tokens, as any of listed tokens is. */
export function countPools({ pools, base, quote }: PairSearch): number {
  return pairsOf(base, quote).reduce((sum, [one, other]) => sum + pools.countOfPair(one, other), 0)
}

function pairsOf(base: TokenSet, quote: TokenSet): readonly (readonly [Address, Address])[] {
  const quotes = quote.values()
  return base.values().flatMap((one) => quotes.map((other) => [one, other] as const))
}
