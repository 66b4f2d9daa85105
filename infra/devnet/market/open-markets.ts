/** Creates the pools, gives each its first price, and lets the first providers in. */
import {
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  getCreate2Address,
  type Hex,
  keccak256,
  parseAbiParameters,
} from 'viem'
import { NATIVE_CURRENCY } from '../../../ingest/model/network.ts'
import { type Chain, requireSuccess, type Transaction } from '../chain/chain.ts'
import { factoryAbi, poolManagerAbi, uniswapBytecode, v3PoolAbi } from '../contracts/contracts.ts'
import { type DevContracts, tokenNamed } from '../contracts/deploy.ts'
import type { DevToken } from '../contracts/token.ts'
import { managedMint } from './managed-mint.ts'
import { type DevMarket, type LiquidityPosition, mintCall, type V4PoolKey } from './market.ts'
import type { MarketPlan } from './plan.ts'
import { fullRange, liquidityWorth, sqrtPriceX96Of, ticksAround } from './sqrt-price.ts'

const NO_HOOKS = NATIVE_CURRENCY
/** The fee tier that Uniswap's own governance added after the start. */
const LOWEST_FEE = { fee: 100, tickSpacing: 1 }
const NATIVE: DevToken = { address: NATIVE_CURRENCY, symbol: 'ETH', name: 'Ether', decimals: 18, shape: 'plain' }

/** Dollars for a whole token, by symbol. */
type TokenPrices = Readonly<Record<string, number>>

/** Two blocks: the pools, then their liquidity. */
export async function openMarkets(
  chain: Chain,
  deployment: DevContracts,
  { plans, prices, timestamp }: { plans: readonly MarketPlan[]; prices: TokenPrices; timestamp: number },
): Promise<DevMarket[]> {
  const [from] = chain.accounts
  const { factory, router } = deployment
  const markets = marketsOf(plans, deployment)
  const creations = markets.flatMap((market) => {
    const sqrtPriceX96 = sqrtPriceX96Of(priceIn(prices, market), decimalsOf(market))
    return creationOf(market, sqrtPriceX96, deployment).map((call) => ({ ...call, from }))
  })
  const enable = encodeFunctionData({
    abi: factoryAbi,
    functionName: 'enableFeeAmount',
    args: [LOWEST_FEE.fee, LOWEST_FEE.tickSpacing],
  })
  const created = await chain.mineBlock([{ from, to: factory, data: enable }, ...creations], timestamp)
  await requireSuccess(chain, created, 'creating the pools')
  const provisions = plans.flatMap((plan, index) => {
    const market = markets[index]
    if (!market) return []
    return plan.depth.flatMap(({ usd, width }): Transaction[] => {
      const position = positionWorth(usd, width, market, prices)
      if (plan.managed && market.place.kind === 'v4') return managedMint(market.place.key, position, deployment, from)
      return [{ from, to: router, data: mintCall(market, position) }]
    })
  })
  const provided = await chain.mineBlock(provisions, timestamp + 1)
  await requireSuccess(chain, provided, 'providing liquidity')
  return markets
}

/** Where the pools will be, or are since an earlier start. */
export function marketsOf(plans: readonly MarketPlan[], deployment: DevContracts): DevMarket[] {
  const poolCodeHash = keccak256(uniswapBytecode('v3Pool'))
  return plans.map((plan) => marketOf(plan, deployment, poolCodeHash))
}

function marketOf(plan: MarketPlan, { factory, tokens }: DevContracts, poolCodeHash: Hex): DevMarket {
  const { fee, tickSpacing, pair } = plan
  const [token0, token1] = pair.map((symbol) => (symbol === 'ETH' ? NATIVE : tokenNamed(tokens, symbol)))
  if (!token0 || !token1) throw new Error('a pair has two tokens')
  const common = { token0, token1, fee, tickSpacing }
  if (plan.protocol === 'v4') {
    const key: V4PoolKey = {
      currency0: token0.address,
      currency1: token1.address,
      fee,
      tickSpacing,
      hooks: plan.hooks ?? NO_HOOKS,
    }
    return { ...common, id: poolIdOf(key), place: { kind: 'v4', key } }
  }
  const salt = keccak256(
    encodeAbiParameters(parseAbiParameters('address, address, uint24'), [token0.address, token1.address, fee]),
  )
  const pool = getCreate2Address({ from: factory, salt, bytecodeHash: poolCodeHash }).toLowerCase() as Address
  return { ...common, id: pool, place: { kind: 'v3', pool: { pool, token0: token0.address, token1: token1.address } } }
}

function poolIdOf({ currency0, currency1, fee, tickSpacing, hooks }: V4PoolKey): Hex {
  const parameters = parseAbiParameters('address, address, uint24, int24, address')
  return keccak256(encodeAbiParameters(parameters, [currency0, currency1, fee, tickSpacing, hooks]))
}

function creationOf({ place, token0, token1, fee }: DevMarket, sqrtPriceX96: bigint, deployment: DevContracts) {
  if (place.kind === 'v4') {
    const data = encodeFunctionData({
      abi: poolManagerAbi,
      functionName: 'initialize',
      args: [place.key, sqrtPriceX96],
    })
    return [{ to: deployment.poolManager, data }]
  }
  const create = encodeFunctionData({
    abi: factoryAbi,
    functionName: 'createPool',
    args: [token0.address, token1.address, fee],
  })
  const initialize = encodeFunctionData({ abi: v3PoolAbi, functionName: 'initialize', args: [sqrtPriceX96] })
  return [
    { to: deployment.factory, data: create },
    { to: place.pool.pool, data: initialize },
  ]
}

/** Token1 per token0 at these dollar prices. */
export function priceIn(prices: TokenPrices, { token0, token1 }: DevMarket): number {
  return usdOf(prices, token0) / usdOf(prices, token1)
}

export function usdOf(prices: TokenPrices, { symbol }: DevToken): number {
  const price = prices[symbol]
  if (price === undefined) throw new Error(`the devnet has no price for ${symbol}`)
  return price
}

export function decimalsOf({ token0, token1 }: DevMarket) {
  return { decimals0: token0.decimals, decimals1: token1.decimals }
}

export function positionWorth(
  usd: number,
  width: number | undefined,
  market: DevMarket,
  prices: TokenPrices,
): LiquidityPosition {
  const price = priceIn(prices, market)
  const decimals = decimalsOf(market)
  const { tickSpacing, token1 } = market
  const ticks = width === undefined ? fullRange(tickSpacing) : ticksAround(price, width, tickSpacing, decimals)
  return { ...ticks, liquidity: liquidityWorth(usd, ticks, { ...decimals, price, usd1: usdOf(prices, token1) }) }
}
