/** A pool of the devnet, and the calls that trade and provide liquidity in it. */
import { type Address, encodeFunctionData, type Hex } from 'viem'
import type { PoolId } from '../../ingest/model/pool.ts'
import { deskAbi } from './contracts.ts'
import type { DevToken } from './token.ts'

export type Market = {
  id: PoolId
  token0: DevToken
  token1: DevToken
  /** Hundredths of a bip. */
  fee: number
  tickSpacing: number
  place: { kind: 'v3'; pool: PoolV3 } | { kind: 'v4'; key: PoolKey }
}

export type PoolV3 = { pool: Address; token0: Address; token1: Address }

export type PoolKey = { currency0: Address; currency1: Address; fee: number; tickSpacing: number; hooks: Address }

export type Swap = {
  /** True where the taker sells token0. */
  zeroForOne: boolean
  /** Raw units of what the taker pays; where negative, of what the taker wants to receive. */
  amount: bigint
  /** The price at which the swap stops, however much is left of the amount. */
  sqrtPriceLimitX96?: bigint
}

export type Position = { tickLower: number; tickUpper: number; liquidity: bigint }

export function swapCall({ place }: Market, { zeroForOne, amount, sqrtPriceLimitX96 = 0n }: Swap): Hex {
  const abi = deskAbi
  return place.kind === 'v3'
    ? encodeFunctionData({ abi, functionName: 'swapV3', args: [place.pool, zeroForOne, amount, sqrtPriceLimitX96] })
    : encodeFunctionData({ abi, functionName: 'swapV4', args: [place.key, zeroForOne, amount, sqrtPriceLimitX96] })
}

/** A market and the range of prices in which nobody can earn by moving it. */
export type Level = { market: Market; low: bigint; high: bigint }

/** Moves each market's price to the near edge of its range, as an arbitrageur would; does nothing where it is inside. */
export function levelCall(levels: readonly Level[]): Hex {
  const v3 = levels.flatMap(({ market: { place }, low, high }) =>
    place.kind === 'v3' ? [{ pool: place.pool, low, high }] : [],
  )
  const v4 = levels.flatMap(({ market: { place }, low, high }) =>
    place.kind === 'v4' ? [{ key: place.key, low, high }] : [],
  )
  return encodeFunctionData({ abi: deskAbi, functionName: 'level', args: [v3, v4] })
}

export function mintCall({ place }: Market, { tickLower, tickUpper, liquidity }: Position): Hex {
  const abi = deskAbi
  return place.kind === 'v3'
    ? encodeFunctionData({ abi, functionName: 'mintV3', args: [place.pool, tickLower, tickUpper, liquidity] })
    : encodeFunctionData({ abi, functionName: 'changeV4', args: [place.key, tickLower, tickUpper, liquidity] })
}

/** Fees are collected as well. */
export function burnCall({ place }: Market, { tickLower, tickUpper, liquidity }: Position): Hex {
  const abi = deskAbi
  return place.kind === 'v3'
    ? encodeFunctionData({ abi, functionName: 'burnV3', args: [place.pool, tickLower, tickUpper, liquidity] })
    : encodeFunctionData({ abi, functionName: 'changeV4', args: [place.key, tickLower, tickUpper, -liquidity] })
}
