/** From a pair of symbols to its pools. Curated addresses come first: on-chain symbols can be copied. */
import type { Address } from 'viem'
import { lower } from '../../../ingest/lib/lower.ts'
import { NATIVE_CURRENCY, type Network, type NetworkName } from '../../../ingest/model/network.ts'
import type { Split } from '../../query/symbol.ts'
import type { Listing } from '../model/listing.ts'
import type { Catalogue, ReadonlyNetworkPools } from '../pools/network-pools.ts'

/** `forward`: the pair is in the pool's own order. */
export type Match = { listing: Listing; forward: boolean }

export type SymbolMatches = {
  listed: readonly Match[]
  /** Pools in which a token matches by its on-chain symbol only; used where nothing listed matches. */
  unlisted: readonly Match[]
  /** True where both symbols of some split are known, with or without a pool. */
  tokensKnown: boolean
  /** True where the two symbols of a split name one token. */
  sameToken: boolean
}

export function matchSymbol(
  catalogue: Catalogue,
  splits: readonly Split[],
  networks: readonly NetworkName[],
): SymbolMatches {
  const served = networks.flatMap((name) => catalogue.get(name) ?? [])
  const listed = new Map<Listing, Match>()
  const unlisted = new Map<Listing, Match>()
  let tokensKnown = false
  let sameToken = false
  for (const split of splits) {
    const base = tokensOfSymbol(served, split.base)
    const quote = tokensOfSymbol(served, split.quote)
    if (base.size === 0 || quote.size === 0) continue
    tokensKnown = true
    const matches = base.listed && quote.listed ? listed : unlisted
    for (const pools of served) {
      const bases = base.byNetwork.get(pools.network.name) ?? []
      const quotes = quote.byNetwork.get(pools.network.name) ?? []
      if (areSame(pools.network, bases, quotes)) sameToken = true
      for (const match of matchesOf(pools, bases, quotes)) {
        if (!matches.has(match.listing)) matches.set(match.listing, match)
      }
    }
  }
  return { listed: [...listed.values()], unlisted: [...unlisted.values()], tokensKnown, sameToken }
}

/** True where all of them are one token. The native currency and its wrapped form are one; USDC and USDC.e are two, though both may be called USDC. */
function areSame(network: Network, bases: readonly Address[], quotes: readonly Address[]): boolean {
  const native = [NATIVE_CURRENCY, lower(network.wrappedNative)]
  const isSame = (one: Address, other: Address) => one === other || (native.includes(one) && native.includes(other))
  return bases.length > 0 && quotes.length > 0 && bases.every((base) => quotes.every((quote) => isSame(base, quote)))
}

function matchesOf(
  pools: ReadonlyNetworkPools,
  bases: readonly Address[],
  quotes: readonly Address[],
): readonly Match[] {
  const fewer = bases.length < quotes.length ? bases : quotes
  const scanned = fewer.reduce((sum, token) => sum + pools.countOfToken(token), 0)
  // Many tokens can share one symbol: their pairs are many more than their pools.
  if (bases.length * quotes.length > scanned) {
    return fewer.flatMap((token) => matchesAmong(pools.ofToken(token), bases, quotes))
  }
  return bases.flatMap((base) =>
    quotes.flatMap((quote) =>
      pools.ofPair(base, quote).map((listing) => ({ listing, forward: listing.pool.token0.address === base })),
    ),
  )
}

function matchesAmong(
  listings: readonly Listing[],
  bases: readonly Address[],
  quotes: readonly Address[],
): readonly Match[] {
  const [base, quote] = [new Set(bases), new Set(quotes)]
  return listings.flatMap((listing): readonly Match[] => {
    const { token0, token1 } = listing.pool
    if (base.has(token0.address) && quote.has(token1.address)) return [{ listing, forward: true }]
    if (base.has(token1.address) && quote.has(token0.address)) return [{ listing, forward: false }]
    return []
  })
}

type SymbolTokens = { listed: boolean; size: number; byNetwork: ReadonlyMap<NetworkName, readonly Address[]> }

/** The curated tokens of a symbol; where no network has one, all tokens with this on-chain symbol. */
function tokensOfSymbol(served: readonly ReadonlyNetworkPools[], symbol: string): SymbolTokens {
  const curated = new Map(served.map((pools) => [pools.network.name, curatedOf(pools, symbol)]))
  const listed = count(curated)
  if (listed > 0) return { listed: true, size: listed, byNetwork: curated }
  const onChain = new Map(served.map((pools) => [pools.network.name, pools.tokensOf(symbol)]))
  return { listed: false, size: count(onChain), byNetwork: onChain }
}

function count(byNetwork: ReadonlyMap<NetworkName, readonly Address[]>): number {
  return [...byNetwork.values()].reduce((sum, addresses) => sum + addresses.length, 0)
}

/** Names of Polygon's native token, old and new, wrapped or not. */
const POL = ['pol', 'matic', 'wpol', 'wmatic']

function curatedOf(pools: ReadonlyNetworkPools, symbol: string): readonly Address[] {
  const { nativeSymbol, wrappedNative } = pools.network
  const names = symbol === 'eth' ? ['eth', 'weth'] : [symbol]
  const addresses = new Set(names.flatMap((name) => pools.curatedTokensOf(name)))
  const native = nativeSymbol === 'POL' ? POL : ['eth']
  if (native.includes(symbol)) {
    addresses.add(NATIVE_CURRENCY)
    addresses.add(lower(wrappedNative))
  }
  return [...addresses]
}
