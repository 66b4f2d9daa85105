/** A pool of the devnet, and the calls that trade and provide liquidity in it. */
import { type Address, encodeFunctionData, type Hex } from 'viem'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { routerAbi } from '../contracts/contracts.ts'
import type { DevToken } from '../contracts/token.ts'

export type DevMarket = {
  id: PoolId
  token0: DevToken
  token1: DevToken
  /** Hundredths of a bip. */
  fee: number
  tickSpacing: number
  place: { kind: 'v3'; pool: PoolV3 } | { kind: 'v4'; key: V4PoolKey }
}

export type PoolV3 = { pool: Address; token0: Address; token1: Address }

export type V4PoolKey = { currency0: Address; currency1: Address; fee: number; tickSpacing: number; hooks: Address }

export type SwapOrder = {
  /** True where the taker sells token0. */
  zeroForOne: boolean
  /** Raw units that the taker pays; where negative, that the taker wants to receive. */
  amount: bigint
  /** The price at which the swap stops, however much is left of the amount. */
  sqrtPriceLimitX96?: bigint
}

export type LiquidityPosition = { tickLower: number; tickUpper: number; liquidity: bigint }

export function swapCall({ place }: DevMarket, { zeroForOne, amount, sqrtPriceLimitX96 = 0n }: SwapOrder): Hex {
  const abi = routerAbi
  return place.kind === 'v3'
    ? encodeFunctionData({ abi, functionName: 'swapV3', args: [place.pool, zeroForOne, amount, sqrtPriceLimitX96] })
    : encodeFunctionData({ abi, functionName: 'swapV4', args: [place.key, zeroForOne, amount, sqrtPriceLimitX96] })
}

/** A market and its range of prices without arbitrage: inside of it the fee exceeds the profit. */
export type ArbitrageRange = { market: DevMarket; low: bigint; high: bigint }

/** Moves each market's price to the near edge of its range, as an arbitrageur would; does nothing where it is inside. */
export function arbitrageCall(levels: readonly ArbitrageRange[]): Hex {
  const v3 = levels.flatMap(({ market: { place }, low, high }) =>
    place.kind === 'v3' ? [{ pool: place.pool, low, high }] : [],
  )
  const v4 = levels.flatMap(({ market: { place }, low, high }) =>
    place.kind === 'v4' ? [{ key: place.key, low, high }] : [],
  )
  return encodeFunctionData({ abi: routerAbi, functionName: 'level', args: [v3, v4] })
}

export function mintCall({ place }: DevMarket, { tickLower, tickUpper, liquidity }: LiquidityPosition): Hex {
  const abi = routerAbi
  return place.kind === 'v3'
    ? encodeFunctionData({ abi, functionName: 'mintV3', args: [place.pool, tickLower, tickUpper, liquidity] })
    : encodeFunctionData({ abi, functionName: 'changeV4', args: [place.key, tickLower, tickUpper, liquidity] })
}

/** Fees are collected as well. */
export function burnCall({ place }: DevMarket, { tickLower, tickUpper, liquidity }: LiquidityPosition): Hex {
  const abi = routerAbi
  return place.kind === 'v3'
    ? encodeFunctionData({ abi, functionName: 'burnV3', args: [place.pool, tickLower, tickUpper, liquidity] })
    : encodeFunctionData({ abi, functionName: 'changeV4', args: [place.key, tickLower, tickUpper, -liquidity] })
}
