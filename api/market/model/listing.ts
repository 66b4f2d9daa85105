/** A pool on a network, and the symbols of its tokens. */
import type { Address } from 'viem'
import { lower } from '../../../ingest/lib/lower.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { NATIVE_CURRENCY, type Network, type NetworkName, trustedToken } from '../../../ingest/model/network.ts'
import type { Pool, PoolId, Token } from '../../../ingest/model/pool.ts'

export type Listing = {
  network: Network
  pool: Pool
  /** The block of its initialisation, where that is stored. */
  created: number | undefined
  /** The time of the first block that is stored of it. */
  firstSeen: UnixSeconds
}

/** Unique over all networks. */
export function listingKey(network: NetworkName, pool: PoolId): string {
  return `${network}:${pool}`
}

/** Addresses of the curated list, and of the chain's native currency. */
export function listedTokens(network: Network): readonly Address[] {
  return [NATIVE_CURRENCY, ...network.trustedTokens.map(({ address }) => lower(address))]
}

export function isListed(network: Network, token: Address): boolean {
  return listedTokens(network).includes(token)
}

/** The curated symbol where there is one: on-chain symbols can be copied. */
export function shownSymbol(network: Network, token: Token): string {
  if (token.address === NATIVE_CURRENCY) return network.nativeSymbol
  return trustedToken(network, token.address)?.symbols[0] ?? token.symbol
}
