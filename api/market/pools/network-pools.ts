/** Lookups of one network's pools. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Address } from 'viem'
import { type PoolColumns, poolOf } from '../../../aggregator/store/stored-pools.ts'
import { lower } from '../../../ingest/lib/lower.ts'
import type { Network, NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId, Token } from '../../../ingest/model/pool.ts'
import { isRead, venueNamesOf } from '../../../ingest/venues/venues.ts'
import { groupBy } from '../../lib/group.ts'
import { openLookup } from '../../lib/lookup.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import type { Listing } from '../model/listing.ts'

const LISTINGS = readSql(new URL('./listings.sql', import.meta.url))
const CURRENT_NAMES = readSql(new URL('./current-names.sql', import.meta.url))
const OF_PAIRS = readSql(new URL('./pools-of-pairs.sql', import.meta.url))
const OF_TOKENS = readSql(new URL('./pools-of-tokens.sql', import.meta.url))
const CALLED = readSql(new URL('./tokens-called.sql', import.meta.url))

/** Pools of a pair or of a token are named where they are so few, else only counted. */
const MAX_FEW = 100
/** Tokens of one symbol that are named one by one: where there are more, the symbol stands for them. */
const MAX_CALLED = 100
/** A client can name every pool, token and symbol there is. */
const MAX_LISTINGS = 20_000
const MAX_PAIRS = 5_000
const MAX_TOKENS = 2_000
const MAX_SYMBOLS = 500
/** A symbol in a query has up to 255 characters, and a parameter takes 128 kB. */
const SYMBOLS_PER_QUERY = 50

/** A row of a pool, for one of its tokens. `symbol`: in lower case; `written`: milliseconds since 1970. */
export type WrittenPool = {
  network: NetworkName
  pool: PoolId
  token: Address
  other_token: Address
  symbol: string
  written: number
}

/** `symbols`: the token's current and former symbols, in lower case. */
export type WrittenName = { network: NetworkName; token: Address; symbols: readonly string[]; written: number }

type Pair = readonly [token: Address, other: Address]

/** `few`: the ids of all pools if there are at most 100. */
export type CountedPools = { count: number; few: readonly PoolId[] }

/**
 * `listed`: the listed tokens that have the symbol; `now`: all that have it, empty if there are more than MAX_CALLED; `former`: some of the tokens
 * that had it before.
 */
export type CalledTokens = {
  listed: readonly Address[]
  now: readonly Address[]
  areMany: boolean
  former: readonly Address[]
}

export type NetworkPools = {
  network: Network
  /** Undefined where it is not stored, or of a venue that this service does not read. */
  listing(id: PoolId): Promise<Listing | undefined>
  /** The pools of two tokens, in either order. */
  ofPair(token: Address, other: Address): Promise<CountedPools>
  ofToken(token: Address): Promise<CountedPools>
  /** `symbol`: in lower case. */
  called(symbol: string): Promise<CalledTokens>
  /** The listed tokens among them, without a look at the others, which may be many. */
  listedCalled(symbol: string): Promise<readonly Address[]>
  evictPool(row: WrittenPool): void
  evictNames(rows: readonly WrittenName[]): void
  evictAll(): void
}

/** Asks a statement about the network. */
type Ask = <Row>(statement: string, places: Record<string, unknown>) => Promise<readonly Row[]>

export function openNetworkPools(client: ClickHouseClient, network: Network): NetworkPools {
  const listed = network.trustedTokens.map(({ address }) => lower(address))
  const ask: Ask = (statement, places) => queryRows(client, statement, { network: network.name, ...places })
  const listings = openListings(network, ask)
  const [pairs, tokens] = [openPairs(network, ask), openTokens(network, ask)]
  const [symbols, listedSymbols] = [openSymbols(ask, listed, false), openSymbols(ask, listed, true)]

  return {
    network,
    listing: listings.get,
    ofPair: (token, other) => pairs.get(token < other ? [token, other] : [other, token]),
    ofToken: tokens.get,
    called: symbols.get,
    listedCalled: async (symbol) => (await listedSymbols.get(symbol)).listed,
    evictPool({ pool, token, other_token, symbol }) {
      listings.evict(pool)
      pairs.evict(nameOfPair([token, other_token]))
      tokens.evict(token)
      const isListed = listed.includes(token)
      const lacksToken = (called: CalledTokens) =>
        (!called.areMany && !called.now.includes(token)) || (isListed && !called.listed.includes(token))
      symbols.evict(symbol, lacksToken)
      if (isListed) listedSymbols.evict(symbol, lacksToken)
    },
    evictNames(rows) {
      const [renamed, names] = [new Set(rows.map(({ token }) => token)), new Set(rows.flatMap((row) => row.symbols))]
      const isRenamed = (token: Address) => renamed.has(token)
      listings.evictAll((listing) => listing !== undefined && tokensOf(listing).some(isRenamed))
      for (const lookup of [symbols, listedSymbols])
        lookup.evictAll(({ symbol, now, former }) => names.has(symbol) || now.some(isRenamed) || former.some(isRenamed))
    },
    evictAll() {
      listings.evictAll()
      pairs.evictAll()
      tokens.evictAll()
      symbols.evictAll()
      listedSymbols.evictAll()
    },
  }
}

function openListings(network: Network, ask: Ask) {
  return openLookup<PoolId, Listing | undefined>({
    async load(pools) {
      const rows = await ask<PoolRow>(LISTINGS, { pools })
      const tokens = [...new Set(rows.flatMap(({ newest }) => [newest.token0_address, newest.token1_address]))]
      const names = tokens.length > 0 ? await ask<CurrentName>(CURRENT_NAMES, { tokens }) : []
      const byToken = new Map(names.map((row) => [row.token, row]))
      const found = new Map(rows.map((row) => [row.id, listingOf(network, row, byToken)]))
      return pools.map((pool) => found.get(pool))
    },
    nameOf: (pool) => pool,
    maxValues: MAX_LISTINGS,
  })
}

function openPairs(network: Network, ask: Ask) {
  const venues = venueNamesOf(network)
  return openLookup<Pair, CountedPools>({
    async load(pairs) {
      const [tokens, others] = [pairs.map(([token]) => token), pairs.map(([, other]) => other)]
      const rows = await ask<CountedRow & { other_token: Address }>(OF_PAIRS, { tokens, others, venues, few: MAX_FEW })
      const found = new Map(rows.map((row) => [nameOfPair([row.token, row.other_token]), countedOf(row)]))
      return pairs.map((pair) => found.get(nameOfPair(pair)) ?? NONE)
    },
    nameOf: nameOfPair,
    maxValues: MAX_PAIRS,
  })
}

function openTokens(network: Network, ask: Ask) {
  const venues = venueNamesOf(network)
  return openLookup<Address, CountedPools>({
    async load(tokens) {
      const rows = await ask<CountedRow>(OF_TOKENS, { tokens, venues, few: MAX_FEW })
      const found = new Map(rows.map((row) => [row.token, countedOf(row)]))
      return tokens.map((token) => found.get(token) ?? NONE)
    },
    nameOf: (token) => token,
    maxValues: MAX_TOKENS,
  })
}

function openSymbols(ask: Ask, listed: readonly Address[], only_listed: boolean) {
  return openLookup<string, CalledTokens & { symbol: string }>({
    async load(symbols) {
      const rows = await ask<CalledRow>(CALLED, { symbols, listed, only_listed, limit: MAX_CALLED + 1 })
      const found = groupBy(rows, ({ symbol }) => symbol)
      return symbols.map((symbol) => ({ symbol, ...calledOf(found.get(symbol) ?? [], listed) }))
    },
    nameOf: (symbol) => symbol,
    maxKeys: SYMBOLS_PER_QUERY,
    maxValues: MAX_SYMBOLS,
  })
}

function tokensOf({ pool: { token0, token1 } }: Listing): readonly Address[] {
  return [token0.address, token1.address]
}

const NONE: CountedPools = { count: 0, few: [] }

function nameOfPair([token, other]: Pair): string {
  return token + other
}

type CountedRow = { token: Address; count: number; pools: readonly PoolId[] }

function countedOf({ count, pools }: CountedRow): CountedPools {
  return { count, few: pools }
}

type CalledRow = { symbol: string; token: Address; is_now: 0 | 1 }

function calledOf(rows: readonly CalledRow[], listedTokens: readonly Address[]): CalledTokens {
  const now = rows.filter(({ is_now }) => is_now).map(({ token }) => token)
  const former = rows.filter(({ is_now }) => !is_now).map(({ token }) => token)
  const areMany = now.length > MAX_CALLED
  const listed = now.filter((token) => listedTokens.includes(token))
  return { listed, now: areMany ? [] : now, areMany, former: former.slice(0, MAX_CALLED) }
}

/** As `listings.sql` reads it. `created`: 0 where the block of its initialisation is not stored. */
type PoolRow = {
  id: PoolId
  newest: Omit<PoolColumns, 'id'>
  initial_sqrt_price: string
  created: number
  first_seen: number
}

export type CurrentName = { token: Address; symbol: string; name: string }

function listingOf(network: Network, row: PoolRow, names: ReadonlyMap<Address, CurrentName>): Listing | undefined {
  const { id, newest } = row
  if (!isRead(network, newest.venue)) return undefined
  const pool = poolOf({ id, ...newest })
  return {
    network,
    created: row.created || undefined,
    firstSeen: row.first_seen,
    pool: {
      ...pool,
      token0: renamed(pool.token0, names),
      token1: renamed(pool.token1, names),
      initialSqrtPriceX96: BigInt(row.initial_sqrt_price),
    },
  }
}

function renamed(token: Token, names: ReadonlyMap<Address, CurrentName>): Token {
  const { symbol, name } = names.get(token.address) ?? token
  return { ...token, symbol, name }
}
