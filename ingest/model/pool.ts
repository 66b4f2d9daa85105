/** A pool and its two tokens, as the chain describes them. */
import { type Address, type Hex, zeroAddress } from 'viem'
import type { VenueName } from './venue.ts'

/** The lower-case pool address (v3, 20 bytes) or pool id (v4, 32 bytes). */
export type PoolId = Hex

export const PROTOCOL_VERSIONS = ['dex-v3', 'dex-v4'] as const
export type ProtocolVersion = (typeof PROTOCOL_VERSIONS)[number]

export type Token = {
  /** Lower case; the zero address is the chain's native currency. */
  address: Address
  symbol: string
  name: string
  decimals: number
}

export type Pool = {
  id: PoolId
  protocol: ProtocolVersion
  /** Absent for Uniswap's pools. */
  venue?: VenueName
  token0: Token
  token1: Token
  /** Hundredths of a bip: 500 is 0.05 %. `DYNAMIC_FEE` for a v4 pool with a dynamic fee and for Algebra's. */
  fee: number
  /** sqrt(token1/token0) · 2^96 at initialisation; 0 where this event does not contain it. */
  initialSqrtPriceX96: bigint
  /** The v4 hook contract, lower case; absent where the pool has none, and in messages and rows of versions that did not keep it. */
  hooks?: Address
}

/** The low bits of a hook's address say what it does: v4-core, Hooks.sol. */
const BEFORE_SWAP_DELTA = 0b1000
const AFTER_SWAP_DELTA = 0b0100

/** Whether the hook may take or give tokens beside a swap, before or after it: the amounts of its Swap event are not all that the account paid. */
export function hasHookDeltas({ hooks }: Pick<Pool, 'hooks'>): boolean {
  return hooks !== undefined && (mayTakeBefore(hooks) || mayTakeAfter(hooks))
}

/** Whether the hook may take or give tokens before a swap, in place of the pool. */
export function mayTakeBefore(hooks: Address): boolean {
  return (Number.parseInt(hooks.slice(-1), 16) & BEFORE_SWAP_DELTA) !== 0
}

/** Whether it may after one. */
export function mayTakeAfter(hooks: Address): boolean {
  return (Number.parseInt(hooks.slice(-1), 16) & AFTER_SWAP_DELTA) !== 0
}

/** For spreading into a pool: absent for the zero address, which stands for no hook. */
export function hooksField(hooks: Address | '' | undefined): { hooks?: Address } {
  return hooks === undefined || hooks === '' || hooks === zeroAddress ? {} : { hooks }
}

/** Flag in a v4 pool key: the hook sets the fee of every swap. Algebra's pools have it here too: their fee changes. */
export const DYNAMIC_FEE = 0x800000

/** A mint (positive) or burn (negative) of liquidity between two ticks. */
export type LiquidityChange = {
  pool: PoolId
  logIndex: number
  tickLower: number
  tickUpper: number
  liquidityDelta: bigint
}

/** Balances of a v3 pool's two tokens after the block, in raw units. */
export type PoolBalance = {
  pool: PoolId
  balance0: bigint
  balance1: bigint
}
