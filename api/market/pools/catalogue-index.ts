/** Pools indexed by id, by token pair and by token symbol. */
import { isDeepStrictEqual } from 'node:util'
import type { Address } from 'viem'
import { lower } from '../../../ingest/lib/lower.ts'
import type { Network, NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId, ProtocolVersion, Token } from '../../../ingest/model/pool.ts'
import { type VenueName, venueField } from '../../../ingest/model/venue.ts'
import { isRead } from '../../../ingest/venues/venues.ts'
import { Groups, type ReadonlyGroups } from '../../lib/groups.ts'
import { type Listing, listingKey, trustedToken } from '../model/listing.ts'

/** Pools come and go while a query is answered: what has to agree is read without a wait between. */
export type Catalogue = {
  networks: ReadonlyMap<NetworkName, Network>
  /** By `listingKey`. */
  pools: ReadonlyMap<string, Listing>
  /** By network and the two addresses in on-chain order. */
  pairs: ReadonlyGroups<Listing>
  /** By network and address of one of its tokens. */
  tokens: ReadonlyGroups<Listing>
  /** Addresses by network and lower-case on-chain symbol. */
  tokensBySymbol: ReadonlyGroups<Address>
  /** The same for listed tokens alone, by their curated symbols and their on-chain one. */
  curatedBySymbol: ReadonlyGroups<Address>
}

/** As `catalogue.sql` reads it. */
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

export class CatalogueIndex implements Catalogue {
  readonly networks: ReadonlyMap<NetworkName, Network>
  readonly pools = new Map<string, Listing>()
  readonly pairs = new Groups<Listing>()
  readonly tokens = new Groups<Listing>()
  readonly tokensBySymbol = new Groups<Address>()
  readonly curatedBySymbol = new Groups<Address>()

  readonly #curated = new Set<string>()

  constructor(networks: readonly Network[]) {
    this.networks = new Map(networks.map((network) => [network.name, network]))
    for (const { name, trustedTokens } of networks) {
      for (const { address, symbols } of trustedTokens) {
        this.#curated.add(tokenKey(name, lower(address)))
        for (const symbol of symbols) this.curatedBySymbol.add(symbolKey(name, symbol), lower(address))
      }
    }
  }

  /** Returns the `listingKey`; undefined, and nothing is kept, for a network or venue that this service does not read. */
  put(row: PoolRow): string | undefined {
    const network = this.networks.get(row.network as NetworkName)
    if (network === undefined || !isRead(network, row.venue as VenueName)) return undefined
    const listing = fromRow(network, row)
    const key = listingKey(network.name, listing.pool.id)
    // What caches hold of an unchanged pool remains valid.
    if (isDeepStrictEqual(this.pools.get(key), listing)) return key
    this.remove(key)
    this.#add(key, this.#withSharedTokens(listing))
    return key
  }

  remove(key: string): void {
    const listing = this.pools.get(key)
    if (listing === undefined) return
    const { network, pool } = listing
    this.pools.delete(key)
    this.pairs.remove(pairKey(network.name, pool.token0.address, pool.token1.address), listing)
    for (const { address, symbol } of [pool.token0, pool.token1]) {
      const token = tokenKey(network.name, address)
      this.tokens.remove(token, listing)
      if (this.tokens.some(token, (other) => isSame(tokenOf(other, address).symbol, symbol))) continue
      const key = symbolKey(network.name, symbol)
      this.tokensBySymbol.remove(key, address)
      const isCurated = trustedToken(network, address)?.symbols.some((name) => isSame(name, symbol))
      if (!isCurated) this.curatedBySymbol.remove(key, address)
    }
  }

  #add(key: string, listing: Listing): void {
    const { network, pool } = listing
    this.pools.set(key, listing)
    this.pairs.add(pairKey(network.name, pool.token0.address, pool.token1.address), listing)
    for (const { address, symbol } of [pool.token0, pool.token1]) {
      const [token, name] = [tokenKey(network.name, address), symbolKey(network.name, symbol)]
      this.tokens.add(token, listing)
      this.tokensBySymbol.add(name, address)
      if (this.#curated.has(token)) this.curatedBySymbol.add(name, address)
    }
  }

  /** One object for a token that many pools have. */
  #withSharedTokens({ network, pool, ...listing }: Listing): Listing {
    const shared = (token: Token) => {
      const other = this.tokens.first(tokenKey(network.name, token.address))
      const known = other && tokenOf(other, token.address)
      return known && isDeepStrictEqual(known, token) ? known : token
    }
    return { network, pool: { ...pool, token0: shared(pool.token0), token1: shared(pool.token1) }, ...listing }
  }
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

function isSame(symbol: string, other: string): boolean {
  return symbol.toLowerCase() === other.toLowerCase()
}

function tokenOf({ pool: { token0, token1 } }: Listing, address: Address): Token {
  return token0.address === address ? token0 : token1
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
