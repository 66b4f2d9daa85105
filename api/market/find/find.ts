/** Finds the one pool that answers a query. */
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { NETWORK_NAMES, type NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId, Token } from '../../../ingest/model/pool.ts'
import { Problem } from '../../lib/problem.ts'
import { nearPairs } from '../../query/near-pair.ts'
import { invalidParameters } from '../../query/parameters.ts'
import { type Split, SYMBOL_RULE, splitSymbol } from '../../query/symbol.ts'
import type { TimeRange } from '../../query/time-range.ts'
import { NO_VOLUME } from '../cache/bucket-rows.ts'
import { type Listing, shownSymbol } from '../model/listing.ts'
import { type PairView, viewPair } from '../model/orientation.ts'
import { type Match, matchIn } from '../pools/pair-search.ts'
import { type PoolLookups, poolOn } from '../pools/pool-lookups.ts'
import { type MarketStore, readHeld, readValues } from '../pools/pool-state.ts'
import { readVolumes } from '../pools/volumes.ts'
import { deviationOf, readQuotes } from './consensus.ts'
import { type Candidate, hasTraded, leadOf, type PassedOver } from './lead.ts'
import { type PairPools, pairPools } from './pair-pools.ts'
import { countListed, type SymbolSearches, searchesOf } from './symbol.ts'

/** A query without `networks` searches the first ones, and where these have no trade in the range the expanded ones. */
export const FIRST_NETWORKS: readonly NetworkName[] = ['ethereum']
export const EXPANDED_NETWORKS: readonly NetworkName[] = ['ethereum', 'arbitrum', 'polygon']

export type NamedPair = { text: string; splits: readonly Split[] }

/** `range`: of the swaps; `day`: the 24 hours that end with the query's `to`, now at the latest. */
export type SearchScope = { networks: readonly NetworkName[] | undefined; range: TimeRange; day: TimeRange }

/** The pool with this id, in its own order, on the first of the networks that has it. Throws `unknown_pool`. */
export async function findPool(store: MarketStore, id: PoolId, { networks, range }: SearchScope): Promise<PairView> {
  const { pools, cache } = store
  const asked = networks ?? EXPANDED_NETWORKS
  const known = await poolOn(pools, id, asked)
  const [first] = known
  if (first === undefined) throw await unknownPool(pools, id, asked)
  if (networks !== undefined || known.length === 1) return { listing: first, forward: true }
  // The query names no network, so that one with trades comes before one without.
  const volumes = await readVolumes(cache, known, range)
  const traded = known.find((_, index) => (volumes[index]?.trades ?? 0) > 0)
  return { listing: traded ?? first, forward: true }
}

/** The pool in the order of the named pair. The symbols may be curated or on-chain ones. Throws `invalid_parameters` if they do not name its tokens. */
export async function inOrderOf(pools: PoolLookups, symbol: NamedPair, { listing }: PairView): Promise<PairView> {
  const { network, pool } = listing
  const { listed, unlisted, former } = await searchesOf(pools, symbol.splits, [network.name])
  for (const search of [...listed, ...unlisted, ...former]) {
    const match = matchIn(search, listing)
    if (match) return match
  }
  const isCalled = (token: Token, name: string) =>
    [token.symbol, shownSymbol(network, token)].some((it) => it.toLowerCase() === name)
  for (const forward of [true, false]) {
    const [base, quote] = forward ? [pool.token0, pool.token1] : [pool.token1, pool.token0]
    if (symbol.splits.some((it) => isCalled(base, it.base) && isCalled(quote, it.quote))) return { listing, forward }
  }
  const [one, other] = viewPair({ listing, forward: true })
  const message = `must name the tokens of the pool: ${one}-${other} or ${other}-${one}`
  throw invalidParameters([{ field: 'symbol', message }])
}

/** The pair's lead pool, and the number of networks that were searched. Throws `unknown_symbol` or `no_pool`. */
export async function findLead(
  store: MarketStore,
  symbol: NamedPair,
  scope: SearchScope,
): Promise<{ view: PairView; probed: number; passedOver: PassedOver | undefined }> {
  let probed = scope.networks ?? FIRST_NETWORKS
  let found = await candidatesOf(store, symbol, probed, scope)
  if (scope.networks === undefined && !found.candidates.some(hasTraded)) {
    probed = EXPANDED_NETWORKS
    found = await candidatesOf(store, symbol, probed, scope)
  }
  const lead = await leadAmong(store, found.candidates, scope)
  if (lead === undefined) throw await noMatch(found, symbol, probed, store.pools)
  // A network that is not read costs no search.
  return { ...lead, probed: readOf(store.pools, probed).length }
}

function readOf(pools: PoolLookups, names: readonly NetworkName[]): readonly NetworkName[] {
  return names.filter((name) => pools.on(name) !== undefined)
}

/** The pool that leads the pair over the last 24 hours on all of these networks; undefined where none has a pool. */
export async function findLeadNow(
  store: MarketStore,
  symbol: NamedPair,
  networks: readonly NetworkName[],
  now: UnixSeconds,
): Promise<Listing | undefined> {
  const day = { from: now - 86_400, to: now }
  const scope = { networks, range: day, day }
  const { candidates } = await candidatesOf(store, symbol, networks, scope)
  return (await leadAmong(store, candidates, scope))?.view.listing
}

type TradedMatch = Match & Pick<Candidate, 'trades' | 'rangeUsdMicros' | 'dayUsdMicros'>

type FoundCandidates = Pick<SymbolSearches, 'tokensKnown' | 'sameToken'> &
  Pick<PairPools, 'areUntrusted'> & { candidates: readonly TradedMatch[] }

/** The pair's pools that may lead, with their volumes. */
async function candidatesOf(
  store: MarketStore,
  symbol: NamedPair,
  networks: readonly NetworkName[],
  { range, day }: SearchScope,
): Promise<FoundCandidates> {
  const searches = await searchesOf(store.pools, symbol.splits, networks)
  const { matches, areUntrusted } = await pairPools(store, searches, 'lead')
  const listings = listingsOf(matches)
  const [ranges, days] = await Promise.all([
    readVolumes(store.cache, listings, range),
    readVolumes(store.cache, listings, day),
  ])
  const candidates = matches.map((match, index) => {
    const { trades, usdMicros: rangeUsdMicros } = ranges[index] ?? NO_VOLUME
    const { usdMicros: dayUsdMicros } = days[index] ?? NO_VOLUME
    return { ...match, trades, rangeUsdMicros, dayUsdMicros }
  })
  const { tokensKnown, sameToken } = searches
  return { tokensKnown, sameToken, areUntrusted, candidates }
}

type LeadChoice = { view: PairView; passedOver: PassedOver | undefined }

/** A single candidate leads without further reads. */
async function leadAmong(
  store: MarketStore,
  candidates: readonly TradedMatch[],
  { range, day }: SearchScope,
): Promise<LeadChoice | undefined> {
  const [only] = candidates
  if (candidates.length <= 1) return only && { view: only, passedOver: undefined }
  const listings = listingsOf(candidates)
  const [values, held, quotes] = await Promise.all([
    readValues(store, listings),
    readHeld(store, listings, day.to),
    readQuotes(store.cache, candidates, range),
  ])
  const quoted = candidates.map((candidate, index) => ({
    ...candidate,
    valueUsd: values[index] ?? 0,
    heldUsd: held[index] ?? 0,
    quotes: quotes[index] ?? { rows: [], before: undefined },
  }))
  // The network's reference pools set the price of their own pairs.
  const references = quoted.filter(({ listing }) => isReference(listing))
  const peers = (references.length > 0 ? references : quoted).map(({ quotes, heldUsd }) => ({
    quotes,
    weight: heldUsd,
  }))
  const lead = leadOf(quoted.map(({ quotes, ...rest }) => ({ ...rest, deviation: deviationOf(quotes, peers) })))
  return lead && { view: lead.candidate, passedOver: lead.passedOver }
}

function isReference({ network, pool }: Listing): boolean {
  return network.referencePools.some((reference) => reference.pool.toLowerCase() === pool.id)
}

/** The most valuable pools of a pair on these networks, and the number of all. */
export async function poolsOfPair(
  store: MarketStore,
  symbol: NamedPair,
  networks: readonly NetworkName[],
): Promise<{ listings: readonly Listing[]; count: number }> {
  const searches = await searchesOf(store.pools, symbol.splits, networks)
  const { matches, count } = await pairPools(store, searches, 'value')
  return { listings: listingsOf(matches), count }
}

/** One for each network that has it. Throws `unknown_pool` where none does. */
export async function poolsOfId(
  { pools }: MarketStore,
  id: PoolId,
  networks: readonly NetworkName[],
): Promise<readonly Listing[]> {
  const known = await poolOn(pools, id, networks)
  if (known.length === 0) throw await unknownPool(pools, id, networks)
  return known
}

function listingsOf(matches: readonly Match[]): readonly Listing[] {
  return matches.map((match) => match.listing)
}

async function unknownPool(pools: PoolLookups, id: PoolId, asked: readonly NetworkName[]): Promise<Problem> {
  const elsewhere = (await poolOn(pools, id, NETWORK_NAMES)).map((listing) => listing.network.name)
  const hint =
    elsewhere.length === 0
      ? '/v0/pools?symbol=… lists the pools of a pair.'
      : `It is known on ${elsewhere.join(', ')}: ask with networks=${elsewhere.join(',')}.`
  return new Problem('unknown_pool', `No pool ${id} is known on ${asked.join(', ')}. ${hint}`)
}

async function noMatch(
  { tokensKnown, sameToken, areUntrusted }: FoundCandidates,
  symbol: NamedPair,
  asked: readonly NetworkName[],
  pools: PoolLookups,
): Promise<Problem> {
  const read = pools.networks.map(({ name }) => name)
  const searched = readOf(pools, asked)
  const where = (searched.length > 0 ? searched : asked).join(', ')
  if (sameToken) return invalidParameters([{ field: 'symbol', message: `must be ${SYMBOL_RULE}` }])
  if (areUntrusted)
    return new Problem(
      'no_pool',
      `The pools of ${symbol.text} on ${where} are of tokens that are not listed and hold too little to be trusted. Ask for one by its address: pool=…`,
    )
  if (tokensKnown)
    return new Problem('no_pool', `Both tokens of ${symbol.text} are known, but no pool on ${where} trades them.`)
  if (searched.length === 0)
    return new Problem(
      'unknown_symbol',
      `This service does not read ${where}. It reads ${read.join(', ')}: ask with networks=${read.join(',')}.`,
    )
  const near = await nearPair(pools, symbol.text, asked)
  if (near !== undefined)
    return new Problem(
      'unknown_symbol',
      `No tokens called as ${symbol.text} says are known on ${where}. Did you mean ${near}?`,
    )
  return new Problem(
    'unknown_symbol',
    `No tokens called as ${symbol.text} says are known on ${where}. Look for the pool's address and ask with pool=…, or name other networks.`,
  )
}

/** A pair of listed tokens that has a pool, and that the text may have meant. */
async function nearPair(
  pools: PoolLookups,
  text: string,
  networks: readonly NetworkName[],
): Promise<string | undefined> {
  for (const pair of nearPairs(text))
    if ((await countListed(pools, await searchesOf(pools, splitSymbol(pair), networks))) > 0) return pair
}
