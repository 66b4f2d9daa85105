/** From a pair of symbols to the tokens that they name. Curated addresses come first: on-chain symbols can be copied. */
import type { Address } from 'viem'
import { lower } from '../../../ingest/lib/lower.ts'
import { NATIVE_CURRENCY, type Network, type NetworkName } from '../../../ingest/model/network.ts'
import type { Split } from '../../query/symbol.ts'
import type { NetworkPools } from '../pools/network-pools.ts'
import { addressSet, countPools, isEmpty, type PairSearch, symbolSet, type TokenSet } from '../pools/pair-search.ts'
import type { PoolLookups } from '../pools/pool-lookups.ts'

export type SymbolSearches = {
  listed: readonly PairSearch[]
  /** A token matches by its on-chain symbol only; used where nothing listed has a pool. */
  unlisted: readonly PairSearch[]
  /** A token had the symbol before; used where none that has it now has a trusted pool. */
  former: readonly PairSearch[]
  /** True where both symbols of some split are known, with or without a pool. */
  tokensKnown: boolean
  /** True where the two symbols of a split name one token. */
  sameToken: boolean
}

/** One search for each split and network with known tokens. */
export async function searchesOf(
  pools: PoolLookups,
  splits: readonly Split[],
  networks: readonly NetworkName[],
): Promise<SymbolSearches> {
  const served = networks.flatMap((name) => pools.on(name) ?? [])
  const names = [...new Set(splits.flatMap(({ base, quote }) => [base, quote]))]
  const tokens = new Map(
    await Promise.all(names.map(async (name) => [name, await tokensOfSymbol(served, name)] as const)),
  )
  const [listed, unlisted, former]: [PairSearch[], PairSearch[], PairSearch[]] = [[], [], []]
  let tokensKnown = false
  let sameToken = false
  for (const split of splits) {
    const [base, quote] = [tokens.get(split.base), tokens.get(split.quote)]
    if (!base?.isKnown || !quote?.isKnown) continue
    tokensKnown = true
    const searches = base.areListed && quote.areListed ? listed : unlisted
    for (const { network } of served) {
      const search = { network, base: setOn(base.now, network), quote: setOn(quote.now, network) }
      if (areSame(search)) sameToken = true
      if (isPossible(search)) searches.push(search)
      const before = { base: setOn(base.former, network), quote: setOn(quote.former, network) }
      const formerly = [
        { ...search, base: before.base },
        { ...search, quote: before.quote },
        { network, ...before },
      ]
      former.push(...formerly.filter(isPossible))
    }
  }
  return { listed, unlisted, former, tokensKnown, sameToken }
}

function isPossible({ base, quote }: PairSearch): boolean {
  return !isEmpty(base) && !isEmpty(quote)
}

/** Pools of pairs of listed tokens: where there are any, nothing unlisted is looked for. */
export async function countListed(pools: PoolLookups, { listed }: SymbolSearches): Promise<number> {
  const counts = await Promise.all(listed.map((search) => countPools(pools, search)))
  return counts.reduce((sum, count) => sum + count, 0)
}

/** True where all of them are one token. The native currency and its wrapped form are one; USDC and USDC.e are two, though both may be called USDC. */
function areSame({ network, base, quote }: PairSearch): boolean {
  const native = [NATIVE_CURRENCY, lower(network.wrappedNative)]
  const isSame = (one: Address, other: Address) => one === other || (native.includes(one) && native.includes(other))
  const areAll = base.addresses.every((one) => quote.addresses.every((other) => isSame(one, other)))
  return areAll && base.addresses.length > 0 && quote.addresses.length > 0
}

type SetByNetwork = ReadonlyMap<Network, TokenSet>
type SymbolTokens = { areListed: boolean; isKnown: boolean; now: SetByNetwork; former: SetByNetwork }

const NO_TOKENS = addressSet([])

function setOn(sets: SetByNetwork, network: Network): TokenSet {
  return sets.get(network) ?? NO_TOKENS
}

function isAny(sets: SetByNetwork): boolean {
  return [...sets.values()].some((tokens) => !isEmpty(tokens))
}

async function setsOn(
  served: readonly NetworkPools[],
  setOf: (pools: NetworkPools) => Promise<TokenSet>,
): Promise<SetByNetwork> {
  return new Map(await Promise.all(served.map(async (pools) => [pools.network, await setOf(pools)] as const)))
}

/**
 * The curated tokens of a symbol. If no network has one: all tokens with this on-chain symbol, and apart from these, as `former`, tokens that
 * were renamed from it: a token that was called USDC once does not count as USDC.
 */
async function tokensOfSymbol(served: readonly NetworkPools[], symbol: string): Promise<SymbolTokens> {
  const isConfigured = served.some(({ network }) => configuredAs(network, symbol).length > 0)
  const listedOn = async (pools: NetworkPools) =>
    // One statement for all tokens of the symbol, unless it is known that only listed ones are asked for.
    isConfigured ? listedCalled(pools, symbol) : (await pools.called(symbol)).listed
  const curated = await setsOn(served, async (pools) =>
    addressSet([...configuredAs(pools.network, symbol), ...(await listedOn(pools))]),
  )
  if (isAny(curated)) return { areListed: true, isKnown: true, now: curated, former: new Map() }
  const now = await setsOn(served, async (pools) => {
    const called = await pools.called(symbol)
    return called.areMany ? symbolSet(symbol) : addressSet(called.now)
  })
  const former = await setsOn(served, async (pools) => addressSet((await pools.called(symbol)).former))
  return { areListed: false, isKnown: isAny(now) || isAny(former), now, former }
}

/** Names of Polygon's native token, old and new, wrapped or not. */
const POL = ['pol', 'matic', 'wpol', 'wmatic']

/** Tokens that the network's list calls by the symbol, and the native currency. */
function configuredAs({ nativeSymbol, wrappedNative, trustedTokens }: Network, symbol: string): readonly Address[] {
  const names = namesOf(symbol)
  const called = trustedTokens.filter(({ symbols }) => symbols.some((it) => names.includes(it.toLowerCase())))
  const native = nativeSymbol === 'POL' ? POL : ['eth']
  const isNative = native.includes(symbol)
  return [...called.map(({ address }) => lower(address)), ...(isNative ? [NATIVE_CURRENCY, lower(wrappedNative)] : [])]
}

/** Listed tokens, by their on-chain symbol. */
async function listedCalled(pools: NetworkPools, symbol: string): Promise<readonly Address[]> {
  return (await Promise.all(namesOf(symbol).map(pools.listedCalled))).flat()
}

function namesOf(symbol: string): readonly string[] {
  return symbol === 'eth' ? ['eth', 'weth'] : [symbol]
}
