/**
 * An exchange whose pools speak `dex-v3`: its events beside those of Uniswap v3, the proof of its pools, and the fees that it sets by events. Each
 * has a file of its own here. A pool is met at its Initialize or at a swap, and its factory is asked for it; the factory's events are not read.
 */
import type { Abi, Hex } from 'viem'
import type { Decoded, FeeChange } from '../decode/event.ts'
import type { SwapLayout } from '../decode/swap-rows.ts'
import type { VenueName } from '../model/venue.ts'
import type { RpcLog } from '../rpc/rpc.ts'

export type Venue = {
  name: VenueName
  /** First topics of events that Uniswap v3 does not have. */
  topics: readonly Hex[]
  /** Decodes a log with one of `topics`. */
  decode?(log: RpcLog): Decoded
  /** A Swap of its own, of the first three fields of Uniswap's topics and its first five words. */
  swap?: SwapLayout
  proof: PoolProof
  /** Present where the logs of swaps have no fee. */
  eventFees?: EventFees
}

/** How to read a pool's fee where events set it. */
export type EventFees = {
  /** First topics of the events that `decode` returns as `fee`. */
  topics: readonly Hex[]
  decode(log: RpcLog): Decoded
  /** Functions of the pool that return its current fee; the first that answers counts. */
  functions: readonly {
    abi: Abi
    functionName: string
    feesOf(answer: readonly bigint[]): FeeChange['fees']
  }[]
}

/** How a pool names its key and its factory confirms it: a contract can name any factory. */
export type PoolProof = {
  /** Has the functions of the pool and of the factory. */
  abi: Abi
  /** Functions of the pool, asked after `token0` and `token1`. */
  parts: readonly string[]
  /** The factory's function to the pool, from the two tokens and the first `keyParts` answers. */
  getPool: string
  keyParts: number
  /** In hundredths of a bip, from the answers to `parts`; undefined where they are no fee. */
  feeOf(answers: readonly unknown[]): number | undefined
}

/** The factory takes 24 bits only; a contract may answer more. */
export function isFee(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < 2 ** 24
}
