/** All stored pools in memory, indexed by id, by token pair and by token symbol. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Address } from 'viem'
import type { Network, NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId, ProtocolVersion, Token } from '../../../ingest/model/pool.ts'
import { type VenueName, venueField } from '../../../ingest/model/venue.ts'
import { isRead } from '../../../ingest/venues/venues.ts'
import { type CachedValue, cachedValue } from '../../lib/cached-value.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import { type Listing, listingKey } from '../model/listing.ts'

export type Catalogue = {
  networks: ReadonlyMap<NetworkName, Network>
  /** By `listingKey`. */
  pools: ReadonlyMap<string, Listing>
  /** By network and the two addresses in on-chain order. */
  pairs: ReadonlyMap<string, readonly Listing[]>
  /** By network and address of one of its tokens. */
  tokens: ReadonlyMap<string, readonly Listing[]>
  /** Addresses by network and lower-case on-chain symbol. */
  tokensBySymbol: ReadonlyMap<string, ReadonlySet<Address>>
  /** The same for listed tokens alone, by their curated symbols and their on-chain one. */
  curatedBySymbol: ReadonlyMap<string, ReadonlySet<Address>>
}

const CATALOGUE = readSql(new URL('./catalogue.sql', import.meta.url))
const STATE = readSql(new URL('./catalogue-state.sql', import.meta.url))

/** Checks the table's state at most every `freshMs`, and loads all pools again only where it has changed. */
export function openCatalogue(
  client: ClickHouseClient,
  networks: readonly Network[],
  freshMs: number,
): CachedValue<Catalogue> {
  let held: { state: string; catalogue: Catalogue } | undefined
  return cachedValue(async () => {
    const [row] = await queryRows<{ state: string }>(client, STATE)
    const state = row?.state ?? ''
    if (held?.state === state) return held.catalogue
    const catalogue = catalogueOf(networks, await queryRows<PoolRow>(client, CATALOGUE))
    held = { state, catalogue }
    return catalogue
  }, freshMs)
}

export type PoolRow = {
  network: string
  pool: string
  protocol: string
  venue: string
  fee: number
  initial_sqrt_price: string
  /** 0 where the block of its initialisation is not stored. */
  created: number
  first_seen: number
  token0_address: string
  token0_symbol: string
  token0_name: string
  token0_decimals: number
  token1_address: string
  token1_symbol: string
  token1_name: string
  token1_decimals: number
}

/** Without the pools of networks and venues that this service does not read. */
export function catalogueOf(networks: readonly Network[], rows: readonly PoolRow[]): Catalogue {
  const byName = new Map<NetworkName, Network>(networks.map((network) => [network.name, network]))
  const pools = new Map<string, Listing>()
  const pairs = new Map<string, Listing[]>()
  const tokens = new Map<string, Listing[]>()
  const tokensBySymbol = new Map<string, Set<Address>>()
  const curatedBySymbol = new Map<string, Set<Address>>()
  const listed = new Set<string>()
  for (const { name, trustedTokens } of networks) {
    for (const { address, symbols } of trustedTokens) {
      const token = address.toLowerCase() as Address
      listed.add(tokenKey(name, token))
      for (const symbol of symbols) addName(curatedBySymbol, symbolKey(name, symbol), token)
    }
  }
  for (const row of rows) {
    const network = byName.get(row.network as NetworkName)
    if (network === undefined || !isRead(network, row.venue as VenueName)) continue
    const listing = fromRow(network, row)
    const { id, token0, token1 } = listing.pool
    pools.set(listingKey(network.name, id), listing)
    addTo(pairs, pairKey(network.name, token0.address, token1.address), listing)
    for (const token of [token0, token1]) {
      addTo(tokens, tokenKey(network.name, token.address), listing)
      const symbol = symbolKey(network.name, token.symbol)
      addName(tokensBySymbol, symbol, token.address)
      if (listed.has(tokenKey(network.name, token.address))) addName(curatedBySymbol, symbol, token.address)
    }
  }
  return { networks: byName, pools, pairs, tokens, tokensBySymbol, curatedBySymbol }
}

function addName(names: Map<string, Set<Address>>, name: string, token: Address): void {
  names.set(name, (names.get(name) ?? new Set()).add(token))
}

function addTo(lists: Map<string, Listing[]>, key: string, listing: Listing): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [listing])
  else list.push(listing)
}

export function pairKey(network: NetworkName, token0: Address, token1: Address): string {
  return `${network}:${token0}:${token1}`
}

export function tokenKey(network: NetworkName, token: Address): string {
  return `${network}:${token}`
}

export function symbolKey(network: NetworkName, symbol: string): string {
  return `${network}:${symbol.toLowerCase()}`
}

function fromRow(network: Network, row: PoolRow): Listing {
  return {
    network,
    created: row.created || undefined,
    firstSeen: row.first_seen,
    pool: {
      id: row.pool as PoolId,
      protocol: row.protocol as ProtocolVersion,
      ...venueField(row.venue as VenueName),
      token0: token(row.token0_address, row.token0_symbol, row.token0_name, row.token0_decimals),
      token1: token(row.token1_address, row.token1_symbol, row.token1_name, row.token1_decimals),
      fee: row.fee,
      initialSqrtPriceX96: BigInt(row.initial_sqrt_price),
    },
  }
}

function token(address: string, symbol: string, name: string, decimals: number): Token {
  return { address: address as Address, symbol, name, decimals }
}
