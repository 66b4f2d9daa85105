/** Decoded logs: the events of a pool. */
import type { Address } from 'viem'
import type { LiquidityChange, PoolId } from '../model/pool.ts'
import type { Tick } from '../model/tick.ts'

/** Amounts from the taker's view: received is positive, paid is negative. */
export type Swap = Omit<Tick, 'fee' | 'price' | 'spotPrice' | 'amountUsdMicros'> & {
  kind: 'swap'
  /** Absent in v3, whose pools have one constant fee, and where a venue sets it by other events. */
  fee: number | undefined
  plugin?: PluginFee
}

/** One swap's fees of a plugin, in hundredths of a bip: `override` replaces the pool's fee where it is not 0, `added` is on top. */
export type PluginFee = { override: number; added: number }

/** The log contains the pool's tokens and fee: v3 `PoolCreated`, v4 `Initialize`. */
export type Created = {
  kind: 'created'
  pool: PoolId
  currency0: Address
  currency1: Address
  fee: number
  /** 0 in v3, where another event sets it. */
  sqrtPriceX96: bigint
  /** In v4, zero where the pool has none. */
  hooks?: Address
}

export type Initialized = { kind: 'initialized'; pool: PoolId; sqrtPriceX96: bigint }

/** `sender`: the account or contract that called the PoolManager; absent in v3. */
export type Liquidity = LiquidityChange & { kind: 'liquidity'; sender?: Address }

/** The fee of a pool from here on, where the taker pays token0 and where token1. */
export type FeeChange = { kind: 'fee'; pool: PoolId; fees: readonly [number, number] }

/** Concerns the next swap of the pool. */
export type NextPluginFee = PluginFee & { kind: 'plugin-fee'; pool: PoolId }

/**
 * A trade of a hook in place of the pool, with the fees that its providers got, or a fee of the hook. Any contract can emit it: `hook` did, and may not
 * be the pool's. `sender` called the PoolManager.
 */
export type HookEvent = { pool: PoolId; hook: Address; sender: Address; amount0: bigint; amount1: bigint } & (
  | { kind: 'hook-swap'; fee0: bigint; fee1: bigint }
  | { kind: 'hook-fee' }
)

/** All that resolving a pool and its fee takes of an event. */
export type MetEvent = Exclude<PoolEvent, Swap> | Pick<Swap, 'kind' | 'pool'>

export type PoolEvent = Swap | Created | Initialized | Liquidity | FeeChange | NextPluginFee

/** A decoder returns invalid logs and does not throw: any contract can emit a log shaped like a swap. */
export type Decoded = PoolEvent | HookEvent | { kind: 'broken'; reason: string }
