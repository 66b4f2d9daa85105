/** A network: one chain, its deployments of Uniswap and other venues, and its trusted tokens. */
import type { Address } from 'viem'
import type { PoolId } from './pool.ts'
import type { VenueName } from './venue.ts'

export const NETWORK_NAMES = ['ethereum', 'arbitrum', 'polygon', 'base', 'optimism'] as const
export type NetworkName = (typeof NETWORK_NAMES)[number]

export type Network = {
  name: NetworkName
  chainId: number
  /** True where a local chain stands in for the real one; shown wherever the network is shown. */
  devnet: boolean
  /** The first block whose hash and receipts' root can be computed from answers of nodes: 0 where absent. */
  provenFrom?: number
  v3: { factory: Address; fromBlock: number }
  /** Read beside Uniswap; none where absent. */
  venues?: readonly VenueFactories[]
  v4: { poolManager: Address; stateView: Address; positionManager: Address; fromBlock: number }
  /** Symbol of the native currency, which v4 pools name by the zero address. */
  nativeSymbol: 'ETH' | 'POL'
  wrappedNative: Address
  /** The curated list: symbols resolve through it, and only these tokens have prices in dollars. */
  trustedTokens: readonly TrustedToken[]
  /** Source of the USD price of a volatile trusted token. */
  referencePools: readonly ReferencePool[]
}

export type VenueFactories = { venue: VenueName; factories: readonly Address[] }

export type TrustedToken = {
  address: Address
  /** Displayed name first, then other accepted names (USDT0, WPOL). */
  symbols: readonly [string, ...string[]]
  name: string
  decimals: number
  /** How the token is priced: $1, by its reference pool, or not at all. */
  role: 'stablecoin' | 'priced' | 'listed'
}

/** `address`: lower case. */
export function trustedToken({ trustedTokens }: Network, address: string): TrustedToken | undefined {
  return trustedTokens.find((token) => token.address.toLowerCase() === address)
}

/** A pool of `token` against a stablecoin: its spot price is the token's USD price. */
export type ReferencePool = {
  token: Address
  pool: PoolId
}

/** The address that v4 uses for the native currency. */
export const NATIVE_CURRENCY: Address = '0x0000000000000000000000000000000000000000'
