/**
 * The first pools of a crowded pair, by value and by volume. A pool costs next to nothing, and so does a swap of one unit: a query looks at no
 * more pools than these.
 */

import type { ClickHouseClient } from '@clickhouse/client'
import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { limitConcurrency } from '../../lib/concurrency-limit.ts'
import { Problem } from '../../lib/problem.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import type { CurrentName } from './network-pools.ts'
import { type LoadedOrder, PairOrder, type TopOfPair, TouchedPools } from './pair-order.ts'
import { ANY_TOKEN, addressSet, fewPools, matchIn, type PairSearch, type TokenSet } from './pair-search.ts'
import type { PoolLookups } from './pool-lookups.ts'

const TOP_POOLS = readSql(new URL('./top-pools.sql', import.meta.url))
const TOP_BY_ADDRESSES = readSql(new URL('./sighted-by-addresses.sql', import.meta.url)) + TOP_POOLS
const TOP_BY_SYMBOLS = readSql(new URL('./sighted-by-symbols.sql', import.meta.url)) + TOP_POOLS
const SOUND_TOKENS = readSql(new URL('./sound-tokens.sql', import.meta.url))
const CURRENT_NAMES = readSql(new URL('./current-names.sql', import.meta.url))

/** A pair with more pools is crowded. */
export const CROWDED = 32
/** Below this value a pool's price is cheap to move. */
export const SOUND_USD = 10_000

/** By value; as many by time and by volume, see top-pools.sql. */
const MAX_LEADS = 16
/** Where more tokens of a symbol may have a sound pool, the pools of all its tokens are ordered. */
const MAX_SOUND_TOKENS = 1_000
const MAX_PAIRS = 500
/** So many pairs take in touched pools at each write, in turn: one that no query reads does not fall behind. */
const ADVANCED_AT_ONCE = 4
/** A client may ask for one crowded pair after the other. */
const BOUNDS = { maxRunning: 2, maxQueued: 64, maxWaitMs: 10_000 }

/** Dollars a raw unit. */
export type TokenPrice = { token: Address; usd: number }

export type TopPools = {
  /** `priced`: the tokens of the network that have a price. */
  read(search: PairSearch, priced: () => Promise<readonly TokenPrice[]>): Promise<TopOfPair>
  /** Without pools: any of the network may have changed. */
  touch(network: NetworkName, pools?: Iterable<PoolId>): void
}

type TopRow = {
  by_value: readonly [minusUsd: number, minusVolume: number, pool: PoolId, isActive: 0 | 1][]
  by_seconds: readonly [minusSeconds: number, pool: PoolId][]
  by_volume: readonly [minusVolume: number, pool: PoolId][]
  sound: number
}

/** `freshMs`: with 0, nothing is kept in memory. */
export function openTopPools(reader: ClickHouseClient, pools: PoolLookups, freshMs: number): TopPools {
  const orders = new LRUCache<string, PairOrder>({ max: MAX_PAIRS })
  const written = new Map<NetworkName, TouchedPools>()
  const limited = limitConcurrency(BOUNDS)

  function writtenOn(network: NetworkName): TouchedPools {
    const pools = written.get(network) ?? new TouchedPools()
    written.set(network, pools)
    return pools
  }

  async function load(search: PairSearch, priced: () => Promise<readonly TokenPrice[]>): Promise<LoadedOrder> {
    const prices = await priced()
    const read = (only_v3: boolean) =>
      limited(() => readFirst({ reader, pools }, search, parametersOf(prices, only_v3)))
    try {
      return { top: await read(false), areAll: true }
    } catch (error) {
      // Any number of v4 pools may reach a limit of the store; a factory makes one v3 pool a fee.
      if (!(error instanceof Problem)) throw error
      return { top: await read(true), areAll: false }
    }
  }

  async function findIn(search: PairSearch, ids: readonly PoolId[]) {
    const on = pools.on(search.network.name)
    const listings = await Promise.all(ids.map((id) => on?.listing(id)))
    const isOfPair = (_: PoolId, index: number) => listings[index] && matchIn(search, listings[index])
    return { ofPair: ids.filter(isOfPair), unknown: ids.filter((_, index) => listings[index] === undefined) }
  }

  /** The orders that have not taken in touched pools in this round. */
  let waiting: PairOrder[] = []

  return {
    read(search, priced) {
      const name = nameOf(search)
      const order =
        orders.get(name) ??
        new PairOrder(
          () => load(search, priced),
          writtenOn(search.network.name),
          (ids) => findIn(search, ids),
          freshMs,
        )
      orders.set(name, order)
      return order.read()
    },
    touch(network, pools) {
      writtenOn(network).add(pools)
      if (waiting.length === 0) waiting = [...orders.values()]
      // Where the store does not answer, the next round looks again.
      for (const order of waiting.splice(0, ADVANCED_AT_ONCE)) order.advance().catch(() => undefined)
    },
  }
}

type OrderSources = { reader: ClickHouseClient; pools: PoolLookups }

async function readFirst(
  { reader, pools }: OrderSources,
  search: PairSearch,
  parameters: PricePlaces,
): Promise<LoadedOrder['top']> {
  const order = async (statement: string, of: PairSearch) => {
    const [row] = await queryRows<TopRow>(reader, statement, { ...parameters, ...placesOf(of) })
    return row ? topOf(row) : NO_ORDER
  }
  if (areAddresses(search)) return order(TOP_BY_ADDRESSES, search)
  const tokens = await soundTokens(reader, search, parameters)
  if (tokens.length > MAX_SOUND_TOKENS) return order(TOP_BY_SYMBOLS, search)
  // Pools of tokens that had the symbol before are among them: where matches are read, the present names count.
  const few = await fewPools(pools, amongTokens(search, tokens), CROWDED)
  if (few) return { ...NO_ORDER, few: few.map(({ listing }) => listing.pool.id) }
  return order(TOP_BY_ADDRESSES, await namedNow(reader, search, tokens))
}

/** A symbol's pools count only from SOUND_USD on, see pair-pools.ts: the tokens of such pools, more than MAX_SOUND_TOKENS where there are many. */
async function soundTokens(
  reader: ClickHouseClient,
  search: PairSearch,
  parameters: PricePlaces,
): Promise<readonly Address[]> {
  const places = { ...parameters, ...placesOf(search), limit: MAX_SOUND_TOKENS + 1 }
  const [row] = await queryRows<{ tokens: Address[] }>(reader, SOUND_TOKENS, places)
  return row?.tokens ?? []
}

/** The search with these tokens in place of a symbol. */
function amongTokens(
  { network, base, quote }: PairSearch,
  tokens: readonly Address[],
  isCalled: (token: Address, symbol: string) => boolean = () => true,
): PairSearch {
  const among = (set: TokenSet) =>
    set.symbol === '' ? set : addressSet(tokens.filter((token) => isCalled(token, set.symbol)))
  return { network, base: among(base), quote: among(quote) }
}

async function namedNow(reader: ClickHouseClient, search: PairSearch, tokens: readonly Address[]): Promise<PairSearch> {
  const names = await queryRows<CurrentName>(reader, CURRENT_NAMES, { network: search.network.name, tokens })
  const symbols = new Map(names.map(({ token, symbol }) => [token, symbol.toLowerCase()]))
  return amongTokens(search, tokens, (token, symbol) => (symbols.get(token) ?? symbol) === symbol)
}

const NO_ORDER = { byValue: [], leads: [], few: [], sound: 0 }

function topOf(row: TopRow): LoadedOrder['top'] {
  const active = row.by_value.slice(0, MAX_LEADS).flatMap(([, , pool, isActive]) => (isActive ? [pool] : []))
  const [bySeconds, byVolume] = [row.by_seconds, row.by_volume].map((rows) => rows.map(([, pool]) => pool))
  return {
    byValue: row.by_value.map(([minusUsd, , pool]) => ({ pool, valueUsd: -minusUsd })),
    leads: [...new Set([...active, ...(bySeconds ?? []), ...(byVolume ?? [])])],
    few: [],
    sound: row.sound,
  }
}

type PricePlaces = ReturnType<typeof parametersOf>

function parametersOf(prices: readonly TokenPrice[], only_v3: boolean) {
  return {
    tokens: prices.map(({ token }) => token),
    usd: prices.map(({ usd }) => usd),
    sound_usd: SOUND_USD,
    only_v3,
  }
}

/** A side that addresses name is the first one: the statement finds pools by it. */
function placesOf({ network, base, quote }: PairSearch) {
  const [one, other] = base.symbol !== '' && quote !== ANY_TOKEN ? [quote, base] : [base, quote]
  return {
    network: network.name,
    ones: one.addresses,
    one_symbol: one.symbol,
    others: other.addresses,
    other_symbol: other.symbol,
    any_other: other === ANY_TOKEN,
  }
}

function areAddresses({ base, quote }: PairSearch): boolean {
  return base.symbol === '' && quote.symbol === ''
}

/** One for both directions. */
function nameOf({ network, base, quote }: PairSearch): string {
  const name = (set: TokenSet) =>
    set === ANY_TOKEN ? '*' : set.symbol === '' ? set.addresses.join() : `:${set.symbol}`
  return `${network.name} ${[name(base), name(quote)].toSorted().join(' ')}`
}
