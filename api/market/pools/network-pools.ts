/** A network's pools by id, by token and by pair, and their tokens by symbol. Keys are strings that pools and tokens have anyway: a million need no others. */
import { isDeepStrictEqual } from 'node:util'
import type { Address } from 'viem'
import { lower } from '../../../ingest/lib/lower.ts'
import { type Network, type NetworkName, trustedToken } from '../../../ingest/model/network.ts'
import type { PoolId, ProtocolVersion, Token } from '../../../ingest/model/pool.ts'
import { type VenueName, venueField } from '../../../ingest/model/venue.ts'
import { isRead } from '../../../ingest/venues/venues.ts'
import { Groups } from '../../lib/groups.ts'
import type { Listing } from '../model/listing.ts'
import { TokenPools } from './token-pools.ts'

/** Pools change during a query: no `await` stands between reads that have to agree. */
export type Catalogue = ReadonlyMap<NetworkName, ReadonlyNetworkPools>

export type ReadonlyNetworkPools = Pick<
  NetworkPools,
  | 'network'
  | 'size'
  | 'pool'
  | 'ofPair'
  | 'countOfPair'
  | 'ofToken'
  | 'countOfToken'
  | 'tokensOf'
  | 'countOfSymbol'
  | 'isCalled'
  | 'formerlyCalled'
  | 'curatedTokensOf'
>

/** As `catalogue.sql` reads it. */
export type PoolRow = {
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

/** Anyone can rename any number of tokens. */
const MAX_FORMERLY_CALLED = 1_000

/** The name that a token was given later than its pools were stored; `former`: symbols that it had before. */
export type TokenName = { symbol: string; name: string; former: readonly string[]; block: number }

export class NetworkPools {
  readonly network: Network

  readonly #pools = new Map<PoolId, Listing>()
  readonly #byToken = new TokenPools()
  readonly #bySymbol = new Groups<string, Address>()
  readonly #curated = new Set<Address>()
  readonly #curatedBySymbol = new Groups<string, Address>()
  readonly #names = new Map<Address, TokenName>()
  readonly #byFormerSymbol = new Groups<string, Address>()

  constructor(network: Network) {
    this.network = network
    for (const { address, symbols } of network.trustedTokens) {
      this.#curated.add(lower(address))
      for (const symbol of symbols) this.#curatedBySymbol.add(symbol.toLowerCase(), lower(address))
    }
  }

  get size(): number {
    return this.#pools.size
  }

  pool(id: PoolId): Listing | undefined {
    return this.#pools.get(id)
  }

  /** In either order. */
  ofPair(token: Address, other: Address): readonly Listing[] {
    return this.#byToken.ofPair(token, other)
  }

  /** In one step. */
  countOfPair(token: Address, other: Address): number {
    return this.#byToken.countOfPair(token, other)
  }

  ofToken(token: Address): readonly Listing[] {
    return this.#byToken.of(token)
  }

  countOfToken(token: Address): number {
    return this.#byToken.count(token)
  }

  /** By their on-chain symbol, in any letter case. */
  tokensOf(symbol: string): readonly Address[] {
    return this.#bySymbol.get(symbol.toLowerCase())
  }

  /** Tokens with this on-chain symbol, in one step. */
  countOfSymbol(symbol: string): number {
    return this.#bySymbol.countOf(symbol.toLowerCase())
  }

  /** True where the token has this on-chain symbol. */
  isCalled(token: Address, symbol: string): boolean {
    return this.#bySymbol.has(symbol.toLowerCase(), token)
  }

  /** Listed tokens alone, by their curated symbols and their on-chain one. */
  curatedTokensOf(symbol: string): readonly Address[] {
    return this.#curatedBySymbol.get(symbol.toLowerCase())
  }

  /** Tokens with pools that had this on-chain symbol before, in any letter case; those that were renamed first, where there are too many. */
  formerlyCalled(symbol: string): readonly Address[] {
    const tokens = this.#byFormerSymbol.firstOf(symbol.toLowerCase(), MAX_FORMERLY_CALLED)
    return tokens.filter((token) => this.countOfToken(token) > 0)
  }

  /** Renames the token in all of its pools, and in those that are put later. An older name than the known one changes nothing. */
  rename(token: Address, name: TokenName): void {
    const known = this.#names.get(token)
    if (known !== undefined && known.block >= name.block) return
    this.#names.set(token, name)
    for (const symbol of known?.former ?? []) this.#byFormerSymbol.remove(symbol.toLowerCase(), token)
    for (const symbol of name.former) this.#byFormerSymbol.add(symbol.toLowerCase(), token)
    // In place: a token may have any number of pools, which share it.
    const before = new Set<string>()
    for (const listing of this.#byToken.of(token)) {
      const named = tokenOf(listing, token)
      before.add(named.symbol)
      named.symbol = name.symbol
      named.name = name.name
    }
    for (const symbol of before) this.#forget(token, symbol)
    if (before.size > 0) this.#call(token, name.symbol)
  }

  /** Returns the id; undefined, and nothing is kept, for a venue that this service does not read. */
  put(row: PoolRow): PoolId | undefined {
    if (!isRead(this.network, row.venue as VenueName)) return undefined
    const listing = this.#listingOf(row)
    const { id } = listing.pool
    // What caches hold of an unchanged pool remains valid.
    const known = this.#pools.get(id)
    if (known !== undefined && isDeepStrictEqual(known, listing)) return id
    this.remove(id)
    this.#add(listing)
    return id
  }

  remove(id: PoolId): void {
    const listing = this.#pools.get(id)
    if (listing === undefined) return
    this.#pools.delete(id)
    this.#byToken.remove(listing)
    for (const { address, symbol } of [listing.pool.token0, listing.pool.token1]) {
      const name = symbol.toLowerCase()
      if (!this.#byToken.some(address, (other) => tokenOf(other, address).symbol.toLowerCase() === name))
        this.#forget(address, symbol)
    }
  }

  #add(listing: Listing): void {
    this.#pools.set(listing.pool.id, listing)
    this.#byToken.add(listing)
    for (const { address, symbol } of [listing.pool.token0, listing.pool.token1]) this.#call(address, symbol)
  }

  #call(token: Address, symbol: string): void {
    this.#bySymbol.add(symbol.toLowerCase(), token)
    if (this.#curated.has(token)) this.#curatedBySymbol.add(symbol.toLowerCase(), token)
  }

  #forget(token: Address, symbol: string): void {
    const name = symbol.toLowerCase()
    this.#bySymbol.remove(name, token)
    const isCurated = trustedToken(this.network, token)?.symbols.some((it) => it.toLowerCase() === name)
    if (!isCurated) this.#curatedBySymbol.remove(name, token)
  }

  #listingOf(row: PoolRow): Listing {
    return {
      network: this.network,
      created: row.created || undefined,
      firstSeen: row.first_seen,
      pool: {
        id: row.pool as PoolId,
        protocol: row.protocol as ProtocolVersion,
        token0: this.#shared(this.#named(row.token0_address, row.token0_symbol, row.token0_name, row.token0_decimals)),
        token1: this.#shared(this.#named(row.token1_address, row.token1_symbol, row.token1_name, row.token1_decimals)),
        fee: row.fee,
        initialSqrtPriceX96: BigInt(row.initial_sqrt_price),
        ...venueField(row.venue as VenueName),
      },
    }
  }

  #named(address: string, symbol: string, name: string, decimals: number): Token {
    const later = this.#names.get(address as Address)
    return { address: address as Address, symbol: later?.symbol ?? symbol, name: later?.name ?? name, decimals }
  }

  /** One object for a token that many pools have. */
  #shared(token: Token): Token {
    const listing = this.#byToken.first(token.address)
    const known = listing && tokenOf(listing, token.address)
    return known && isSame(known, token) ? known : token
  }
}

function tokenOf({ pool: { token0, token1 } }: Listing, address: Address): Token {
  return token0.address === address ? token0 : token1
}

function isSame(one: Token, other: Token): boolean {
  return one.symbol === other.symbol && one.name === other.name && one.decimals === other.decimals
}
