/** From a pair of symbols to the tokens that they name. Curated addresses come first: on-chain symbols can be copied. */
import type { Address } from 'viem'
import { lower } from '../../../ingest/lib/lower.ts'
import { NATIVE_CURRENCY, type NetworkName } from '../../../ingest/model/network.ts'
import type { Split } from '../../query/symbol.ts'
import type { Catalogue, ReadonlyNetworkPools } from '../pools/network-pools.ts'
import { addressSet, countPools, type PairSearch, symbolSet, type TokenSet } from '../pools/pair-search.ts'

export type SymbolSearches = {
  listed: readonly PairSearch[]
  /** A token matches by its on-chain symbol only; used where nothing listed has a pool. */
  unlisted: readonly PairSearch[]
  /** A token had the symbol before, see `formerOf`; used where none that has it now has a trusted pool. */
  former: readonly PairSearch[]
  /** True where both symbols of some split are known, with or without a pool. */
  tokensKnown: boolean
  /** True where the two symbols of a split name one token. */
  sameToken: boolean
}

/** One for each split and network whose tokens are known. */
export function searchesOf(
  catalogue: Catalogue,
  splits: readonly Split[],
  networks: readonly NetworkName[],
): SymbolSearches {
  const served = networks.flatMap((name) => catalogue.get(name) ?? [])
  const [listed, unlisted, former]: [PairSearch[], PairSearch[], PairSearch[]] = [[], [], []]
  let tokensKnown = false
  let sameToken = false
  for (const split of splits) {
    const base = tokensOfSymbol(served, split.base)
    const quote = tokensOfSymbol(served, split.quote)
    const [formerBase, formerQuote] = [formerOf(served, split.base, base), formerOf(served, split.quote, quote)]
    if (base.size + formerBase.size === 0 || quote.size + formerQuote.size === 0) continue
    tokensKnown = true
    const searches = base.listed && quote.listed ? listed : unlisted
    for (const pools of served) {
      const search = { pools, base: base.on(pools), quote: quote.on(pools) }
      if (areSame(search)) sameToken = true
      if (isPossible(search)) searches.push(search)
      const before = { base: formerBase.on(pools), quote: formerQuote.on(pools) }
      const formerly = [
        { ...search, base: before.base },
        { ...search, quote: before.quote },
        { pools, ...before },
      ]
      former.push(...formerly.filter(isPossible))
    }
  }
  return { listed, unlisted, former, tokensKnown, sameToken }
}

function isPossible({ base, quote }: PairSearch): boolean {
  return base.size > 0 && quote.size > 0
}

/** True where a pair of listed tokens has a pool: nothing unlisted is looked for then. */
export function hasListed({ listed }: SymbolSearches): boolean {
  return listed.some((search) => countPools(search) > 0)
}

/** True where all of them are one token. The native currency and its wrapped form are one; USDC and USDC.e are two, though both may be called USDC. */
function areSame({ pools, base, quote }: PairSearch): boolean {
  const native = [NATIVE_CURRENCY, lower(pools.network.wrappedNative)]
  // Only these two can be one token under two addresses.
  if (base.size === 0 || quote.size === 0 || base.size > native.length || quote.size > native.length) return false
  const isSame = (one: Address, other: Address) => one === other || (native.includes(one) && native.includes(other))
  return base.values().every((one) => quote.values().every((other) => isSame(one, other)))
}

type SymbolTokens = { listed: boolean; size: number; on(pools: ReadonlyNetworkPools): TokenSet }

/** The curated tokens of a symbol; where no network has one, all tokens with this on-chain symbol. */
function tokensOfSymbol(served: readonly ReadonlyNetworkPools[], symbol: string): SymbolTokens {
  const curated = setsOf(served, (pools) => addressSet(curatedOf(pools, symbol)))
  if (curated.size > 0) return { listed: true, ...curated }
  return { listed: false, ...setsOf(served, (pools) => symbolSet(pools, symbol)) }
}

/** Tokens that were renamed from the symbol; none where it is a curated one: a token that was called USDC once does not count as USDC. */
function formerOf(
  served: readonly ReadonlyNetworkPools[],
  symbol: string,
  { listed }: SymbolTokens,
): Omit<SymbolTokens, 'listed'> {
  return setsOf(served, (pools) => addressSet(listed ? [] : pools.formerlyCalled(symbol)))
}

function setsOf(
  served: readonly ReadonlyNetworkPools[],
  tokensOf: (pools: ReadonlyNetworkPools) => TokenSet,
): Omit<SymbolTokens, 'listed'> {
  const sets = new Map(served.map((pools) => [pools, tokensOf(pools)]))
  const none = addressSet([])
  return {
    size: [...sets.values()].reduce((sum, { size }) => sum + size, 0),
    on: (pools) => sets.get(pools) ?? none,
  }
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
