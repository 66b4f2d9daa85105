/** The devnet's tokens: named as the real ones, with an open `mint`. */
import type { Address } from 'viem'
import type { TrustedToken } from '../../../ingest/model/network.ts'

/** A token before its deployment. */
export type TokenPlan = {
  symbol: string
  name: string
  decimals: number
  shape: 'plain' | 'bytes32' | 'no-decimals'
  /** None where it is not on the curated list. */
  role?: TrustedToken['role']
}

export type DevToken = TokenPlan & { address: Address }

/** In the order of their addresses, which is the mainnet's: USDC/WETH is so ordered there too. */
export const TOKEN_PLANS = [
  { symbol: 'WBTC', name: 'Wrapped BTC', decimals: 8, shape: 'plain', role: 'listed' },
  { symbol: 'DAI', name: 'Dai Stablecoin', decimals: 18, shape: 'plain', role: 'stablecoin' },
  { symbol: 'MKR', name: 'Maker', decimals: 18, shape: 'bytes32', role: 'listed' },
  { symbol: 'USDC', name: 'USD Coin', decimals: 6, shape: 'plain', role: 'stablecoin' },
  { symbol: 'WETH', name: 'Wrapped Ether', decimals: 18, shape: 'plain', role: 'priced' },
] as const satisfies readonly TokenPlan[]

export type TokenSymbol = (typeof TOKEN_PLANS)[number]['symbol'] | 'ETH'
