/** Decoded logs: the four events of a pool. */
import type { Address, Hash } from 'viem'
import type { PoolId } from '../model/pool.ts'

/** Amounts from the taker's view: received is positive, paid is negative. */
export type Swap = {
  kind: 'swap'
  pool: PoolId
  logIndex: number
  transactionHash: Hash
  amount0: bigint
  amount1: bigint
  sqrtPriceX96: bigint
  liquidity: bigint
  poolTick: number
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

export type Liquidity = {
  kind: 'liquidity'
  pool: PoolId
  logIndex: number
  tickLower: number
  tickUpper: number
  liquidityDelta: bigint
}

export type PoolEvent = Swap | Created | Initialized | Liquidity

/** A decoder returns invalid logs and does not throw: any contract can emit a log shaped like a swap. */
export type Decoded = PoolEvent | { kind: 'broken'; reason: string }
