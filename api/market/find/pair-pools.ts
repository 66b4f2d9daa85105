/** The pools of a pair that a query compares: all of them, or the first ones where a network has very many. */

import { lower } from '../../../ingest/lib/lower.ts'
import type { Network } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import type { Split } from '../../query/symbol.ts'
import type { Listing } from '../model/listing.ts'
import { pricedTokens } from '../pools/new-pools.ts'
import type { TopOfPair } from '../pools/pair-order.ts'
import { countPools, fewPools, MAX_STEPS, type Match, matchIn, type PairSearch, stepsOf } from '../pools/pair-search.ts'
import { type MarketStore, readValues } from '../pools/pool-state.ts'
import { CROWDED, SOUND_USD } from '../pools/top-pools.ts'
import { countListed, type SymbolSearches, searchesOf } from './symbol.ts'

export type PairPools = {
  matches: readonly Match[]
  /** Number of the pair's pools, including pools that are not compared. */
  count: number
  /** True where tokens of these names have pools, but no pool has enough value to be trusted. */
  areUntrusted: boolean
}

/** `lead`: pools that traded or have liquidity. `value`: the most valuable pools. */
export type Purpose = 'lead' | 'value'

/** By value, on all crowded networks. */
const MAX_SHOWN = 120
/** A symbol of 257 characters has up to 128 splits, and each may name crowded pairs. */
const MAX_CROWDED = 8

/**
 * Pools of listed tokens. Without any: pools of unlisted tokens with a minimum value in trusted tokens, first of tokens that have the symbols
 * now, then of tokens that had them before.
 */
export async function pairPools(store: MarketStore, searches: SymbolSearches, purpose: Purpose): Promise<PairPools> {
  const count = await countListed(store.pools, searches)
  if (count > 0) {
    const { few, first } = await poolsIn(store, searches.listed, purpose)
    return { matches: unique([...few, ...first]), count, areUntrusted: false }
  }
  const now = await trustedPools(store, searches.unlisted, purpose)
  if (now.matches.length > 0) return now
  const before = await trustedPools(store, searches.former, purpose)
  return { ...before, areUntrusted: before.matches.length === 0 && (before.areUntrusted || now.areUntrusted) }
}

async function trustedPools(store: MarketStore, searches: readonly PairSearch[], purpose: Purpose): Promise<PairPools> {
  const { few, first, sound } = await poolsIn(store, searches, purpose)
  const [ofFew, ofFirst] = [await trusted(store, few), await trusted(store, first)]
  const matches = unique([...ofFew, ...ofFirst])
  const areUntrusted = matches.length === 0 && few.length + first.length > 0
  return { matches, count: Math.max(matches.length, ofFew.length + sound), areUntrusted }
}

/** `few`: all of networks without crowds; `first`: of crowded ones, which have `sound` pools of the minimum value. */
type FewOrFirst = { few: readonly Match[]; first: readonly Match[]; sound: number }

async function poolsIn(store: MarketStore, searches: readonly PairSearch[], purpose: Purpose): Promise<FewOrFirst> {
  const few: Match[] = []
  const crowded: PairSearch[] = []
  // A symbol has up to 128 splits, and each may name many tokens.
  let steps = MAX_STEPS
  for (const search of searches) {
    const cost = stepsOf(search)
    const known = few.filter(({ listing }) => listing.network === search.network).length
    const found = cost > steps ? undefined : await fewPools(store.pools, search, CROWDED - known)
    if (cost <= steps) steps -= cost
    if (found === undefined) crowded.push(search)
    else few.push(...found)
  }
  const firsts = await Promise.all(
    crowded.slice(0, MAX_CROWDED).map(async (search) => ({ search, top: await readTop(store, search) })),
  )
  const leads = () => Promise.all(firsts.map((one) => leadsOf(store, one)))
  const first = purpose === 'lead' ? (await leads()).flat() : await mostValuable(store, firsts)
  return { few, first, sound: firsts.reduce((sum, { top }) => sum + top.sound, 0) }
}

export function readTop(store: MarketStore, search: PairSearch): Promise<TopOfPair> {
  return store.top.read(search, () => pricedTokens(store, search.network))
}

/** Orders the crowded pairs of listed tokens one after the other, so that the first query of one does not wait for it. */
export async function orderListed(store: MarketStore): Promise<void> {
  for (const network of store.pools.networks) {
    const { listed } = await searchesOf(store.pools, listedSplits(network), [network.name])
    const counts = await Promise.all(listed.map((search) => countPools(store.pools, search)))
    for (const [index, search] of listed.entries()) if ((counts[index] ?? 0) > CROWDED) await readTop(store, search)
  }
}

function listedSplits({ nativeSymbol, trustedTokens }: Network): readonly Split[] {
  const names = [...new Set([nativeSymbol, ...trustedTokens.flatMap(({ symbols }) => symbols)])]
  const symbols = names.map((name) => name.toLowerCase())
  return symbols.flatMap((base, index) => symbols.slice(index + 1).map((quote) => ({ base, quote })))
}

type FirstPools = { search: PairSearch; top: TopOfPair }

async function leadsOf(store: MarketStore, { search, top }: FirstPools): Promise<readonly Match[]> {
  const references = search.network.referencePools.map(({ pool }) => lower(pool))
  const found = await matchesOf(store, search, [...references, ...top.leads, ...top.few, ...top.touched])
  const [first] = top.byValue
  return found.length > 0 || first === undefined ? found : matchesOf(store, search, [first.pool])
}

async function mostValuable(store: MarketStore, firsts: readonly FirstPools[]): Promise<readonly Match[]> {
  const ranked = firsts.flatMap(({ search, top }) => top.byValue.map((one) => ({ search, ...one })))
  const shown = ranked.toSorted((one, other) => other.valueUsd - one.valueUsd).slice(0, MAX_SHOWN)
  const found = await Promise.all([
    ...shown.map(({ search, pool }) => matchesOf(store, search, [pool])),
    ...firsts.map(({ search, top }) => matchesOf(store, search, [...top.few, ...top.touched])),
  ])
  return found.flat()
}

/** A rollback may have removed one since, and a symbol may have another token. */
async function matchesOf(store: MarketStore, search: PairSearch, ids: readonly PoolId[]): Promise<readonly Match[]> {
  const on = store.pools.on(search.network.name)
  const listings = await Promise.all(ids.map((id) => on?.listing(id)))
  return listings.flatMap((listing) => (listing && matchIn(search, listing)) ?? [])
}

async function trusted(store: MarketStore, matches: readonly Match[]): Promise<readonly Match[]> {
  const values = await readValues(
    store,
    matches.map(({ listing }) => listing),
  )
  return matches.filter((_, index) => (values[index] ?? 0) >= SOUND_USD)
}

/** The first match of each pool: several splits may name one. */
function unique(matches: readonly Match[]): readonly Match[] {
  const known = new Map<Listing, Match>()
  for (const match of matches) if (!known.has(match.listing)) known.set(match.listing, match)
  return [...known.values()]
}
