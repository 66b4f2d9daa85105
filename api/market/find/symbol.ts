/** From a pair of symbols to its pools. Curated addresses come first: on-chain symbols can be copied. */
import type { Address } from 'viem'
import { lower } from '../../../ingest/lib/lower.ts'
import { NATIVE_CURRENCY, type Network, type NetworkName } from '../../../ingest/model/network.ts'
import type { Split } from '../../query/symbol.ts'
import type { Listing } from '../model/listing.ts'
import { type Catalogue, pairKey, symbolKey, tokenKey } from '../pools/catalogue-index.ts'

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
  const served = networks.flatMap((name) => catalogue.networks.get(name) ?? [])
  const listed = new Map<Listing, Match>()
  const unlisted = new Map<Listing, Match>()
  let tokensKnown = false
  let sameToken = false
  for (const split of splits) {
    const base = tokensOfSymbol(catalogue, served, split.base)
    const quote = tokensOfSymbol(catalogue, served, split.quote)
    if (base.size === 0 || quote.size === 0) continue
    tokensKnown = true
    const matches = base.listed && quote.listed ? listed : unlisted
    for (const network of served) {
      const bases = base.byNetwork.get(network.name) ?? []
      const quotes = quote.byNetwork.get(network.name) ?? []
      if (areSame(network, bases, quotes)) sameToken = true
      for (const match of matchesOf(catalogue, network, bases, quotes)) {
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
  catalogue: Catalogue,
  network: Network,
  bases: readonly Address[],
  quotes: readonly Address[],
): readonly Match[] {
  const fewer = bases.length < quotes.length ? bases : quotes
  const keys = fewer.map((token) => tokenKey(network.name, token))
  const scanned = keys.reduce((sum, key) => sum + catalogue.tokens.count(key), 0)
  // Many tokens can share one symbol: their pairs are many more than their pools.
  if (bases.length * quotes.length > scanned) {
    return keys.flatMap((key) => matchesAmong(catalogue.tokens.get(key), bases, quotes))
  }
  const pairOf = (token0: Address, token1: Address, forward: boolean): readonly Match[] =>
    catalogue.pairs.get(pairKey(network.name, token0, token1)).map((listing) => ({ listing, forward }))
  return bases.flatMap((base) =>
    quotes.flatMap((quote) => [...pairOf(base, quote, true), ...pairOf(quote, base, false)]),
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
function tokensOfSymbol(catalogue: Catalogue, networks: readonly Network[], symbol: string): SymbolTokens {
  const curated = new Map(networks.map((network) => [network.name, curatedOf(catalogue, network, symbol)]))
  const listed = count(curated)
  if (listed > 0) return { listed: true, size: listed, byNetwork: curated }
  const onChain = new Map(
    networks.map((network) => [network.name, catalogue.tokensBySymbol.get(symbolKey(network.name, symbol))]),
  )
  return { listed: false, size: count(onChain), byNetwork: onChain }
}

function count(byNetwork: ReadonlyMap<NetworkName, readonly Address[]>): number {
  return [...byNetwork.values()].reduce((sum, addresses) => sum + addresses.length, 0)
}

/** Names of Polygon's native token, old and new, wrapped or not. */
const POL = ['pol', 'matic', 'wpol', 'wmatic']

function curatedOf(catalogue: Catalogue, network: Network, symbol: string): readonly Address[] {
  const names = symbol === 'eth' ? ['eth', 'weth'] : [symbol]
  const addresses = new Set(names.flatMap((name) => catalogue.curatedBySymbol.get(symbolKey(network.name, name))))
  const native = network.nativeSymbol === 'POL' ? POL : ['eth']
  if (native.includes(symbol)) {
    addresses.add(NATIVE_CURRENCY)
    addresses.add(lower(network.wrappedNative))
  }
  return [...addresses]
}
