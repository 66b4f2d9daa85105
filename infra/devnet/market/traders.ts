/** Simulated traders: random swaps, arbitrage between pools, and liquidity that is added and removed. */
import type { Address, Hex } from 'viem'
import type { Transaction } from '../chain/chain.ts'
import {
  type ArbitrageRange,
  arbitrageCall,
  burnCall,
  type DevMarket,
  type LiquidityPosition,
  mintCall,
  swapCall,
} from './market.ts'
import { decimalsOf, positionWorth, priceIn, usdOf } from './open-markets.ts'
import type { DevUsdPrices } from './plan.ts'
import { type PricePath, pricePathOf } from './price-path.ts'
import { type Random, randomOf } from './random.ts'
import { sqrtPriceX96Of } from './sqrt-price.ts'

export type Traders = {
  /**
   * Transactions of the block `seconds` after the last one. With the pools' spot prices (token1 per token0), arbitrage skips pools
   * that are within their fee.
   */
  next(seconds: number, spots?: readonly number[]): Transaction[]
}

export type TradersOptions = {
  seed: number
  markets: readonly DevMarket[]
  /** Accounts that send the transactions. */
  senders: readonly [Address, ...Address[]]
  router: Address
  /** Initial prices. */
  prices: DevUsdPrices
}

/** Sizes are log-normal: half are under the median, one in a hundred is forty times as large. */
const SIZE_DEVIATION = 1.6
const WHALE_CHANCE = 0.006
const WHALE_USD = 150_000
const EXACT_OUTPUT_CHANCE = 0.15
/** How long an arbitrageur needs to see and take a chance. */
const ARBITRAGE_SECONDS = 8
const PROVISIONS_PER_SECOND = 25 / 3_600
const PROVIDERS_AT_MOST = 40

export function tradersOf({ seed, markets, senders, router, prices: start }: TradersOptions): Traders {
  const random = randomOf(seed)
  const path = pricePathOf(random, start)
  const open: { market: DevMarket; position: LiquidityPosition }[] = []
  const send = (data: Hex): Transaction => ({ from: random.pick(senders), to: router, data })

  function provision(prices: DevUsdPrices): Hex[] {
    const [market, ...others] = markets
    if (!market) return []
    const leaving = random.uniform() < open.length / PROVIDERS_AT_MOST ? open.shift() : undefined
    if (leaving) return [burnCall(leaving.market, leaving.position)]
    const chosen = random.pick([market, ...others])
    const width = 0.01 * (1 + 7 * random.uniform())
    const position = positionWorth(20_000 * Math.exp(1.2 * random.normal()), width, chosen, prices)
    open.push({ market: chosen, position })
    return [mintCall(chosen, position)]
  }

  return {
    next(seconds, spots) {
      path.advance(seconds)
      const prices = path.prices()
      const trades = markets.flatMap((market) => {
        const { tradesPerHour } = activityOf(market)
        const activity = path.isVolatile() ? 2.5 : 1
        const count = random.poisson((tradesPerHour * activity * seconds) / 3_600)
        return Array.from({ length: count }, () => trade(random, market, prices))
      })
      const changes = random.uniform() < PROVISIONS_PER_SECOND * seconds ? provision(prices) : []
      const levels = arbitrage(random, markets, { path, seconds, spots })
      return [...trades, ...changes, ...(levels.length > 0 ? [arbitrageCall(levels)] : [])].map(send)
    },
  }
}

/** Trades an hour and the median size in dollars. */
function activityOf({ place, token0, token1, fee }: DevMarket): { tradesPerHour: number; medianUsd: number } {
  const pair = `${place.kind} ${token0.symbol}/${token1.symbol} ${fee}`
  const habits: Record<string, { tradesPerHour: number; medianUsd: number }> = {
    'v3 USDC/WETH 500': { tradesPerHour: 420, medianUsd: 1_800 },
    'v3 USDC/WETH 3000': { tradesPerHour: 60, medianUsd: 2_500 },
    'v3 WBTC/WETH 3000': { tradesPerHour: 90, medianUsd: 3_000 },
    'v3 DAI/USDC 100': { tradesPerHour: 60, medianUsd: 4_000 },
    'v4 ETH/USDC 500': { tradesPerHour: 240, medianUsd: 1_200 },
  }
  return habits[pair] ?? { tradesPerHour: 45, medianUsd: 700 }
}

function trade(random: Random, market: DevMarket, prices: DevUsdPrices): Hex {
  const { medianUsd } = activityOf(market)
  const whale = random.uniform() < WHALE_CHANCE
  const usd = (whale ? WHALE_USD : medianUsd) * Math.exp((whale ? 0.7 : SIZE_DEVIATION) * random.normal())
  const zeroForOne = random.uniform() < 0.5
  const exactOutput = random.uniform() < EXACT_OUTPUT_CHANCE
  const named = zeroForOne === exactOutput ? market.token1 : market.token0
  const amount = rawAmount(usd / usdOf(prices, named), named.decimals)
  return swapCall(market, { zeroForOne, amount: exactOutput ? -amount : amount })
}

/** Four significant digits, as typed amounts have. */
function rawAmount(tokens: number, decimals: number): bigint {
  const raw = BigInt(Math.floor(Number(tokens.toPrecision(4)) * 10 ** decimals))
  return raw > 0n ? raw : 1n
}

type MarketMoment = { path: PricePath; seconds: number; spots: readonly number[] | undefined }

/** Pools that differ from the market price by more than their fee, with the price range to move them into. */
function arbitrage(
  random: Random,
  markets: readonly DevMarket[],
  { path, seconds, spots }: MarketMoment,
): ArbitrageRange[] {
  const prices = path.prices()
  const chance = path.isVolatile() ? 1 : 1 - Math.exp(-seconds / ARBITRAGE_SECONDS)
  return markets.flatMap((market, index) => {
    if (random.uniform() >= chance) return []
    const price = priceIn(prices, market)
    const fee = market.fee / 1_000_000
    const spot = spots?.[index]
    if (spot !== undefined && Math.abs(Math.log(spot / price)) < fee) return []
    const decimals = decimalsOf(market)
    const low = sqrtPriceX96Of(price * (1 - fee), decimals)
    return [{ market, low, high: sqrtPriceX96Of(price * (1 + fee), decimals) }]
  })
}
