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
  /** As the events of the pool's hook say; absent where it emitted none that say it, and in messages and rows of versions that did not keep it. */
  hookAmounts?: HookAmounts
}

/** Raw units that a pool's hook gave to the taker of one swap (positive) or took (negative), beside what went through the pool. */
export type HookAmounts = { amount0: bigint; amount1: bigint }

/** By block, then by the log index of the swap. Nearly always empty. */
export type HookAmountTable = ReadonlyMap<number, ReadonlyMap<number, HookAmounts>>

/**
 * Ticks as columns: one typed array a field, row by row in the order of the chain. Words are 32-bit lanes, the least significant first, negative ones in
 * two's complement: on a little-endian machine these are the bytes that ClickHouse
 * reads. Units are those of `Tick`.
 */
export type TickColumns = {
  readonly length: number
  /** Each pool once. */
  readonly pools: readonly PoolId[]
  /** Place in `pools`. */
  readonly pool: Uint32Array
  readonly block: Float64Array
  /** Seconds: the time of the block. */
  readonly time: Uint32Array
  readonly logIndex: Uint32Array
  /** 32 bytes a row. */
  readonly transactionHash: Uint8Array
  /** 20 bytes a row; zeros where it is not known. */
  readonly sender: Uint8Array
  /** 8 lanes a row, as the next three. */
  readonly amount0: Uint32Array
  readonly amount1: Uint32Array
  readonly sqrtPrice: Uint32Array
  readonly usdMicros: Uint32Array
  /** 4 lanes a row. */
  readonly liquidity: Uint32Array
  readonly poolTick: Int32Array
  readonly fee: Uint32Array
  readonly price: Float64Array
  readonly spotPrice: Float64Array
  /** May have more than these rows: parts of columns share it. */
  readonly hookAmounts: HookAmountTable
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
