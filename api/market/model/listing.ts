/** A pool on a network, and how its tokens are shown. */
import { NATIVE_CURRENCY, type Network, type NetworkName, type TrustedToken } from '../../../ingest/model/network.ts'
import type { Pool, PoolId, Token } from '../../../ingest/model/pool.ts'

export type Listing = {
  network: Network
  pool: Pool
  /** The block that it was initialised in, where that was seen. */
  created: number | undefined
}

/** One string for a pool, whatever the network. */
export function listingKey(network: NetworkName, pool: PoolId): string {
  return `${network}:${pool}`
}

export function trustedToken(network: Network, address: string): TrustedToken | undefined {
  return network.trustedTokens.find((token) => token.address.toLowerCase() === address)
}

/** A token that the curated list knows, or the chain's own currency. */
export function isListed(network: Network, address: string): boolean {
  return address === NATIVE_CURRENCY || trustedToken(network, address) !== undefined
}

/** The curated name where there is one: symbols on chain are anybody's. */
export function shownSymbol(network: Network, token: Token): string {
  if (token.address === NATIVE_CURRENCY) return network.nativeSymbol
  return trustedToken(network, token.address)?.symbols[0] ?? token.symbol
}
