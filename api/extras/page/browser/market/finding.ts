/** Finds pools by a pair or an id: the only requests that name a pair. */
import { type TokenFile, usualPair } from '../../tokens.ts'
import type { PageAddress } from '../lib/address.ts'
import type { QueryApi } from '../lib/client.ts'
import { Refusal } from '../lib/refusal.ts'
import { hyphenated } from './orientation.ts'
import { pairQuery, type ShownPool, toListing } from './scene.ts'

export type FoundPools = {
  /** Direction of the price. */
  pair: string
  /** By value, descending. */
  listings: readonly ShownPool[]
  chosen: ShownPool
}

/** The pools of a place; of the first pair where it names none. Rejects with a refusal where there is no such pool. */
export async function findPlace(
  ask: QueryApi,
  { pair, pool, network }: PageAddress,
  tokens: TokenFile,
  firstPair: (signal: AbortSignal) => Promise<string>,
  signal: AbortSignal,
): Promise<FoundPools> {
  if (pool !== undefined) return findPool(ask, { pool, network, pair }, tokens, signal)
  return findPair(ask, hyphenated(pair ?? (await firstPair(signal))), signal)
}

/** Rejects with a refusal where no pool trades the pair. */
async function findPair(ask: QueryApi, pair: string, signal: AbortSignal): Promise<FoundPools> {
  const { body, lead } = await ask('pools', pairQuery(pair), signal)
  const listings = body.data.map(toListing)
  // The most valuable pool may have a price of its own.
  const chosen = listings.find(({ id, network }) => `${network}/${id}` === lead) ?? listings[0]
  if (chosen === undefined) throw new Refusal('question', `No pool that is stored here trades ${pair}.`, 0)
  return { pair, listings, chosen }
}

/** Any request with `pool=` names network and pair in its headers; searches do not list small pools of unknown tokens. */
async function findPool(
  ask: QueryApi,
  { pool, network, pair }: { pool: string; network: string | undefined; pair: string | undefined },
  { networks, tokens }: TokenFile,
  signal: AbortSignal,
): Promise<FoundPools> {
  const query = { pool, networks: network ?? networks.join(','), interval: '1d', limit: '1' }
  const answer = await ask('candles', query, signal)
  const listed = await findPair(ask, answer.pair, signal).catch((error: unknown) => {
    if (error instanceof Refusal && error.kind === 'question') return undefined
    throw error
  })
  const known = listed?.listings.find(({ id, network: on }) => id === pool && on === answer.network)
  const cut = answer.pair.indexOf('-')
  const bare = { id: pool, network: answer.network, pool: undefined }
  const chosen = known ?? { ...bare, tokens: [answer.pair.slice(0, cut), answer.pair.slice(cut + 1)] as const }
  return {
    pair: pair ?? usualPair(...chosen.tokens, tokens),
    listings: known === undefined ? [chosen, ...(listed?.listings ?? [])] : (listed?.listings ?? []),
    chosen,
  }
}
