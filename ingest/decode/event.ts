/** Decoded logs: the four events of a pool. */
import type { Address } from 'viem'
import type { LiquidityChange, PoolId } from '../model/pool.ts'
import type { Tick } from '../model/tick.ts'

/** Amounts from the taker's view: received is positive, paid is negative. */
export type Swap = Omit<Tick, 'fee' | 'price' | 'spotPrice' | 'amountUsdMicros'> & {
  kind: 'swap'
  /** Absent in v3, whose pools have one constant fee. */
  fee: number | undefined
}

/** The log contains the pool's tokens and fee: v3 `PoolCreated`, v4 `Initialize`. */
export type Created = {
  kind: 'created'
  pool: PoolId
  currency0: Address
  currency1: Address
  fee: number
  /** 0 in v3, where another event sets it. */
  sqrtPriceX96: bigint
}

export type Initialized = { kind: 'initialized'; pool: PoolId; sqrtPriceX96: bigint }

export type Liquidity = LiquidityChange & { kind: 'liquidity' }

export type PoolEvent = Swap | Created | Initialized | Liquidity

/** A decoder returns invalid logs and does not throw: any contract can emit a log shaped like a swap. */
export type Decoded = PoolEvent | { kind: 'broken'; reason: string }
