/** A tick: one swap, priced. */
import type { Address, Hash } from 'viem'
import type { PoolId } from './pool.ts'

export type Tick = {
  pool: PoolId
  /** Position in the block, counted over all of its logs. */
  logIndex: number
  transactionHash: Hash
  /** The account or contract that called the pool, most often a router; absent in messages and rows of versions that did not keep it. */
  sender?: Address
  /** Raw units of token0 that the taker received (positive) or paid (negative). */
  amount0: bigint
  amount1: bigint
  /** sqrt(token1/token0) · 2^96 after the swap. */
  sqrtPriceX96: bigint
  /** In-range liquidity after the swap. */
  liquidity: bigint
  /** The pool's own tick after the swap: ⌊log base 1.0001 of the raw price⌋. */
  poolTick: number
  /** Hundredths of a bip that this swap paid. */
  fee: number
  /** |amount1| / |amount0|, decimal-adjusted: token1 per token0 that the taker paid, fee included. */
  price: number
  /** Token1 per token0, decimal-adjusted, after the swap. */
  spotPrice: number
  /** Traded value in millionths of a US dollar; 0 where no trusted token prices it. */
  amountUsdMicros: bigint
}

export const SIDES = ['buy', 'sell'] as const
export type Side = (typeof SIDES)[number]

/**
 * Whether anything was exchanged. A swap of 0 for 0, as in a pool without liquidity, moves the pool's price and is executed at none: it has no part in
 * the execution prices of a candle.
 */
export function isExecuted({ amount0, amount1 }: Pick<Tick, 'amount0' | 'amount1'>): boolean {
  return amount0 !== 0n || amount1 !== 0n
}

/** `buy` where the taker receives token0; where token0 did not move, token1 decides; `buy` where neither moved. */
export function sideOf(tick: Pick<Tick, 'amount0' | 'amount1'>): Side {
  if (tick.amount0 !== 0n) return tick.amount0 > 0n ? 'buy' : 'sell'
  return tick.amount1 > 0n ? 'sell' : 'buy'
}
