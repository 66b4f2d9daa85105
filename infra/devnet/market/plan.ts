/** The devnet's pools, their depth, and the first prices of their tokens. */
import type { Address } from 'viem'
import type { TokenSymbol } from '../contracts/token.ts'

export type MarketPlan = {
  protocol: 'v3' | 'v4'
  /** Symbols, token0 first. */
  pair: readonly [string, string]
  /** Hundredths of a bip. */
  fee: number
  tickSpacing: number
  /** Each is held by one provider from price / (1 + width) to price · (1 + width); without a width over the full range. */
  depth: readonly { usd: number; width?: number }[]
  /** Made through the PositionManager, which then knows the key of the pool; v4 only. */
  managed?: boolean
  /** A contract that the PoolManager calls; v4 only. */
  hooks?: Address
}

/** Dollars for a whole token. */
export type DevUsdPrices = Record<TokenSymbol, number>

export const FIRST_PRICES: DevUsdPrices = { ETH: 3_200, WETH: 3_200, WBTC: 96_000, MKR: 1_600, USDC: 1, DAI: 0.9998 }

const MILLION = 1_000_000

export const MARKET_PLANS: readonly MarketPlan[] = [
  { protocol: 'v3', pair: ['USDC', 'WETH'], fee: 500, tickSpacing: 10, depth: wide(12, 30, 9) },
  { protocol: 'v3', pair: ['USDC', 'WETH'], fee: 3000, tickSpacing: 60, depth: wide(10, 20, 4) },
  { protocol: 'v3', pair: ['DAI', 'WETH'], fee: 3000, tickSpacing: 60, depth: wide(5, 8, 2) },
  { protocol: 'v3', pair: ['WBTC', 'WETH'], fee: 3000, tickSpacing: 60, depth: wide(15, 25, 6) },
  {
    protocol: 'v3',
    pair: ['DAI', 'USDC'],
    fee: 100,
    tickSpacing: 1,
    depth: [{ usd: MILLION }, { usd: 9 * MILLION, width: 0.003 }],
  },
  { protocol: 'v3', pair: ['MKR', 'WETH'], fee: 3000, tickSpacing: 60, depth: wide(3, 3, 0.8) },
  { protocol: 'v4', pair: ['ETH', 'USDC'], fee: 500, tickSpacing: 10, depth: wide(8, 20, 6), managed: true },
  { protocol: 'v4', pair: ['ETH', 'DAI'], fee: 3000, tickSpacing: 60, depth: wide(3, 5, 1) },
]

/** Some over the full range, most where the price will be for months, a little where it is today; in millions of dollars. */
function wide(full: number, months: number, today: number): MarketPlan['depth'] {
  return [{ usd: full * MILLION }, { usd: months * MILLION, width: 0.6 }, { usd: today * MILLION, width: 0.05 }]
}
