/** The pools of a network between two sets of tokens: found one by one where they are few, else only counted. */
import type { Address } from 'viem'
import type { Network } from '../../../ingest/model/network.ts'
import type { Token } from '../../../ingest/model/pool.ts'
import type { Listing } from '../model/listing.ts'
import type { NetworkPools } from './network-pools.ts'
import type { PoolLookups } from './pool-lookups.ts'

/** Tokens that one symbol names: by their addresses, or all that have it on chain where these are many. */
export type TokenSet = {
  addresses: readonly Address[]
  /** Lower case; empty where addresses name the tokens. */
  symbol: string
}

export type PairSearch = { network: Network; base: TokenSet; quote: TokenSet }

/** `forward`: the pair is in the pool's own order. */
export type Match = { listing: Listing; forward: boolean }

/** Pairs of tokens that the searches of a query look at one by one. */
export const MAX_STEPS = 1_000

export function addressSet(addresses: readonly Address[]): TokenSet {
  return { addresses: [...new Set(addresses)], symbol: '' }
}

export function symbolSet(symbol: string): TokenSet {
  return { addresses: [], symbol }
}

/** As the other side of a search: all pools of the first one. */
export const ANY_TOKEN: TokenSet = { addresses: [], symbol: '' }

export function isEmpty(tokens: TokenSet): boolean {
  return tokens !== ANY_TOKEN && tokens.addresses.length === 0 && tokens.symbol === ''
}

function has(tokens: TokenSet, { address, symbol }: Token): boolean {
  if (tokens.symbol !== '') return symbol.toLowerCase() === tokens.symbol
  return tokens === ANY_TOKEN || tokens.addresses.includes(address)
}

/** Undefined if the search does not match the pool. */
export function matchIn({ base, quote }: PairSearch, listing: Listing): Match | undefined {
  const { token0, token1 } = listing.pool
  if (has(base, token0) && has(quote, token1)) return { listing, forward: true }
  if (has(base, token1) && has(quote, token0)) return { listing, forward: false }
  return undefined
}

/** All pools of the search; undefined where there are more than `limit` (at most 100), or where too many tokens have the symbols. */
export async function fewPools(
  pools: PoolLookups,
  search: PairSearch,
  limit: number,
): Promise<readonly Match[] | undefined> {
  const on = pools.on(search.network.name)
  if (on === undefined) return []
  const found = await foundIn(on, search)
  if (found === undefined || countOf(found) > limit) return undefined
  const listings = await Promise.all([...new Set(found.flatMap(({ few }) => few))].map(on.listing))
  return listings.flatMap((listing) => (listing && matchIn(search, listing)) ?? [])
}

/** For a search by addresses, as any of listed tokens is. */
export async function countPools(pools: PoolLookups, search: PairSearch): Promise<number> {
  const on = pools.on(search.network.name)
  return countOf((on && (await foundIn(on, search))) ?? [])
}

/** Pairs of tokens that a search by addresses has; infinity where a symbol stands for its tokens. */
export function stepsOf({ base, quote }: PairSearch): number {
  if (base.symbol !== '' || quote.symbol !== '') return Number.POSITIVE_INFINITY
  return base.addresses.length * (quote === ANY_TOKEN ? 1 : quote.addresses.length)
}

/** Undefined where one by one these are too many. */
function foundIn(on: NetworkPools, search: PairSearch) {
  const { base, quote } = search
  if (stepsOf(search) > MAX_STEPS) return undefined
  if (quote === ANY_TOKEN) return Promise.all(base.addresses.map(on.ofToken))
  return Promise.all(base.addresses.flatMap((one) => quote.addresses.map((other) => on.ofPair(one, other))))
}

function countOf(found: readonly { count: number }[]): number {
  return found.reduce((sum, { count }) => sum + count, 0)
}
