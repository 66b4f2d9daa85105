/** A network: one chain, its Uniswap deployments, and the tokens that we trust on it. */
import type { Address } from 'viem'
import type { PoolId } from './pool.ts'

export const NETWORK_NAMES = ['ethereum', 'arbitrum', 'polygon', 'base', 'optimism'] as const
export type NetworkName = (typeof NETWORK_NAMES)[number]

export type Network = {
  name: NetworkName
  chainId: number
  /** True where a local chain stands in for the real one: said wherever the network is shown. */
  devnet: boolean
  v3: { factory: Address; fromBlock: number }
  v4: { poolManager: Address; stateView: Address; positionManager: Address; fromBlock: number }
  /** The native currency's symbol, which v4 pools know as the zero address. */
  nativeSymbol: 'ETH' | 'POL'
  wrappedNative: Address
  /** The curated list: symbols resolve through it, and only these tokens price anything. */
  trustedTokens: readonly TrustedToken[]
  /** Where the USD price of a volatile trusted token comes from. */
  referencePools: readonly ReferencePool[]
}

export type TrustedToken = {
  address: Address
  /** The name that we show, then every other name it answers to (USDT0, WPOL). */
  symbols: readonly [string, ...string[]]
  name: string
  decimals: number
  /** What the token is to pricing: worth $1, worth its reference pool's price, or nothing. */
  role: 'stablecoin' | 'priced' | 'listed'
}

/** A pool of `token` against a stablecoin: its spot price is the token's USD price. */
export type ReferencePool = {
  token: Address
  pool: PoolId
}

/** The address that v4 uses for the chain's native currency. */
export const NATIVE_CURRENCY: Address = '0x0000000000000000000000000000000000000000'
