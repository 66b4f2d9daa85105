/** One contract read, and its gas limits. */
import type { Abi, Address, Hex } from 'viem'
import { classify, isNodeError, wordsOf } from './rpc-error.ts'

export type ContractRead = { address: Address; abi: Abi; functionName: string; args?: readonly unknown[] }

/** The state after a block. By its hash (EIP-1898) a node answers only where it has that block on its branch. */
export type ReadAt = { blockNumber?: bigint } | { blockHash: Hex; requireCanonical: true }

export type ReadResult = { success: boolean; returnData: Hex }

export const FAILED: ReadResult = { success: false, returnData: '0x' }

/**
 * Gas of one `eth_call`: ten times what 200 reads of honest contracts need, and below the limits of nodes. One contract can use all of it,
 * but not more, and memory for a long answer costs so much gas that it ends at a few megabytes.
 */
export const GAS_PER_CALL = 20_000_000n

/** Error texts of geth, reth, Nethermind and anvil. */
const OUT_OF_GAS = /out ?of ?gas|OOG|gas required exceeds|VM execution error/i

export function isGasFailure(error: unknown): boolean {
  return OUT_OF_GAS.test(wordsOf(error))
}

/** The node refuses the call itself: other failures may be transient. */
export function isRefusal(error: unknown): boolean {
  const { kind } = classify(error)
  return isGasFailure(error) || (isNodeError(error) && !['rate-limited', 'timeout', 'behind'].includes(kind))
}
