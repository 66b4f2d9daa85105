/** From what a question names to the one pool that answers it. */
import type { ClickHouseClient } from '@clickhouse/client'
import { NETWORK_NAMES, type NetworkName } from '../../ingest/network.ts'
import type { PoolId } from '../../ingest/pool.ts'
import { invalidParameters } from '../parameters.ts'
import { Problem } from '../problem.ts'
import type { Catalogue } from './catalogue.ts'
import { type Candidate, leadOf, SMALL_POOL_USD } from './lead.ts'
import { type Listing, listingKey } from './listing.ts'
import type { View } from './orientation.ts'
import { readPoolStates } from './pool-state.ts'
import { type Match, resolve, type Split, SYMBOL_RULE } from './symbol.ts'
import { readVolumes, type Volume } from './volumes.ts'
import type { Range } from './windows.ts'

/** Where a question without networks is asked first, and where it goes on when there is no result. */
export const FIRST_NETWORKS: readonly NetworkName[] = ['ethereum']
export const EXPANDED_NETWORKS: readonly NetworkName[] = ['ethereum', 'arbitrum', 'polygon']

export type NamedPair = { text: string; splits: readonly Split[] }

/** Where to look: `range` is that of the swaps, `day` the 24 hours that end with the question's `to`, now at the latest. */
export type Scope = { networks: readonly NetworkName[] | undefined; range: Range; day: Range }

/** The pool with this id: in its own order, on the first network asked that knows it. */
export async function findPool(
  reader: ClickHouseClient,
  catalogue: Catalogue,
  id: PoolId,
  { networks, range }: Scope,
): Promise<View> {
  const asked = networks ?? EXPANDED_NETWORKS
  const known = knownOn(catalogue, id, asked)
  const [first] = known
  if (first === undefined) throw unknownPool(catalogue, id, asked)
  if (networks !== undefined || known.length === 1) return { listing: first, forward: true }
  // Nobody named a network, so one that has a result comes before one that has none.
  const volumes = await readVolumes(reader, known, range)
  const traded = known.find((_, index) => (volumes[index]?.trades ?? 0) > 0)
  return { listing: traded ?? first, forward: true }
}

/** The pair's lead pool, and how many networks it took to find it. */
export async function findLead(
  reader: ClickHouseClient,
  catalogue: Catalogue,
  symbol: NamedPair,
  scope: Scope,
): Promise<{ view: View; probed: number }> {
  const asked = scope.networks ?? FIRST_NETWORKS
  let probed = asked
  let matches = await matchesOf(reader, catalogue, symbol, asked)
  let volumes = await volumesOf(reader, matches, scope.range)
  if (scope.networks === undefined && !volumes.some((volume) => volume.trades > 0)) {
    probed = EXPANDED_NETWORKS
    matches = await matchesOf(reader, catalogue, symbol, probed)
    volumes = await volumesOf(reader, matches, scope.range)
  }
  if (matches.length === 0) throw noMatch(catalogue, symbol, probed)
  const candidates = matches.map((match, index) => ({ match, range: volumes[index] ?? { trades: 0, usd: 0 } }))
  const traded = candidates.filter(({ range }) => range.trades > 0)
  return {
    view: await leadAmong(reader, catalogue, traded.length > 0 ? traded : candidates, scope),
    probed: probed.length,
  }
}

/** Where only one is left, nothing more is asked about it. */
async function leadAmong(
  reader: ClickHouseClient,
  catalogue: Catalogue,
  candidates: readonly { match: Valued; range: Volume }[],
  scope: Scope,
): Promise<View> {
  const [first] = candidates
  if (first === undefined) throw new Error('A lead pool is chosen among one pool or more.')
  if (candidates.length === 1) return first.match
  const matches = candidates.map(({ match }) => match)
  const [days, values] = await Promise.all([
    readVolumes(reader, listingsOf(matches), scope.day),
    valuesOf(reader, catalogue, matches),
  ])
  const facts = candidates.map(({ match, range }, index): Candidate => {
    const dayUsd = days[index]?.usd ?? 0
    return { ...match, trades: range.trades, rangeUsd: range.usd, dayUsd, valueUsd: values[index] ?? 0 }
  })
  return leadOf(facts) ?? first.match
}

/** Every pool of a pair; those of unlisted tokens only where nothing listed matches, and only with real money on the trusted side. */
export async function matchesOf(
  reader: ClickHouseClient,
  catalogue: Catalogue,
  symbol: NamedPair,
  networks: readonly NetworkName[],
): Promise<readonly Valued[]> {
  const { listed, unlisted } = resolve(catalogue, symbol.splits, networks)
  if (listed.length > 0 || unlisted.length === 0) return listed
  const values = await valuesOf(reader, catalogue, unlisted)
  return unlisted
    .map((match, index) => ({ ...match, valueUsd: values[index] ?? 0 }))
    .filter(({ valueUsd }) => valueUsd >= SMALL_POOL_USD)
}

/** A match of which may be known already what the pool holds. */
type Valued = Match & { valueUsd?: number }

/** In dollars; asked for only where it is not known of all. */
async function valuesOf(
  reader: ClickHouseClient,
  catalogue: Catalogue,
  matches: readonly Valued[],
): Promise<readonly (number | undefined)[]> {
  const known = matches.map(({ valueUsd }) => valueUsd)
  if (!known.includes(undefined)) return known
  const states = await readPoolStates(reader, catalogue, listingsOf(matches))
  return states.map(({ valueUsd }) => valueUsd)
}

function volumesOf(reader: ClickHouseClient, matches: readonly Match[], range: Range): Promise<readonly Volume[]> {
  return readVolumes(reader, listingsOf(matches), range)
}

function listingsOf(matches: readonly Match[]): readonly Listing[] {
  return matches.map((match) => match.listing)
}

function knownOn(catalogue: Catalogue, id: PoolId, networks: readonly NetworkName[]): readonly Listing[] {
  return networks.flatMap((network) => catalogue.pools.get(listingKey(network, id)) ?? [])
}

function unknownPool(catalogue: Catalogue, id: PoolId, asked: readonly NetworkName[]): Problem {
  const elsewhere = knownOn(catalogue, id, NETWORK_NAMES).map((listing) => listing.network.name)
  const hint =
    elsewhere.length === 0
      ? '/v0/pools?symbol=… lists the pools of a pair.'
      : `It is known on ${elsewhere.join(', ')}: ask with networks=${elsewhere.join(',')}.`
  return new Problem('unknown_pool', `No pool ${id} is known on ${asked.join(', ')}. ${hint}`)
}

function noMatch(catalogue: Catalogue, symbol: NamedPair, asked: readonly NetworkName[]): Problem {
  const { tokensKnown, sameToken, unlisted } = resolve(catalogue, symbol.splits, asked)
  const where = asked.join(', ')
  if (sameToken) return invalidParameters([{ field: 'symbol', message: `must be ${SYMBOL_RULE}` }])
  if (unlisted.length > 0)
    return new Problem(
      'no_pool',
      `The pools of ${symbol.text} on ${where} are of tokens that are not listed and hold too little to be trusted. Ask for one by its address: pool=…`,
    )
  if (tokensKnown)
    return new Problem('no_pool', `Both tokens of ${symbol.text} are known, but no pool on ${where} trades them.`)
  return new Problem(
    'unknown_symbol',
    `No tokens called as ${symbol.text} says are known on ${where}. Look for the pool's address and ask with pool=…, or name other networks.`,
  )
}
