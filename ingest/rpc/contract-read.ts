/** One question to a contract, and what it costs at most. */
import type { Abi, Address, Hex } from 'viem'
import { wordsOf } from './rpc-error.ts'

export type ContractRead = { address: Address; abi: Abi; functionName: string; args?: readonly unknown[] }

export type ReadResult = { success: boolean; returnData: Hex }

export const FAILED: ReadResult = { success: false, returnData: '0x' }

/**
 * Ten times what 200 reads of honest contracts take, and below what nodes allow. One contract can burn it all, but not
 * more, and memory for a long answer costs so much that it ends at a few megabytes.
 */
export const GAS_PER_CALL = 20_000_000n

/** As geth, reth, Nethermind and anvil call it. */
const OUT_OF_GAS = /out ?of ?gas|OOG|gas required exceeds|VM execution error/i

export function isGasFailure(error: unknown): boolean {
  return OUT_OF_GAS.test(wordsOf(error))
}
