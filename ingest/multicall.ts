/** Many contract reads in one call, through Multicall3. */
import {
  type Abi,
  type Address,
  type Client,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  multicall3Abi,
} from 'viem'
import { readContract } from 'viem/actions'

/** The same address on every network. */
const MULTICALL3: Address = '0xcA11bde05977b3631167028862bE2a173976CA11'

export type Read = { address: Address; abi: Abi; functionName: string; args?: readonly unknown[] }

const READS_PER_CALL = 200

/**
 * The answers in the order of `reads`; undefined where the contract reverted or answered something that is not of its ABI.
 * A node that fails is an error, never an answer: viem's own multicall would report both alike.
 */
export async function readMany(client: Client, reads: readonly Read[], blockNumber?: number): Promise<unknown[]> {
  const calls = reads.map((read) => ({ target: read.address, allowFailure: true, callData: encodeFunctionData(read) }))
  const chunks: Promise<readonly { success: boolean; returnData: Hex }[]>[] = []
  for (let start = 0; start < reads.length; start += READS_PER_CALL) {
    const chunk = readContract(client, {
      address: MULTICALL3,
      abi: multicall3Abi,
      functionName: 'aggregate3',
      args: [calls.slice(start, start + READS_PER_CALL)],
      ...(blockNumber === undefined ? {} : { blockNumber: BigInt(blockNumber) }),
    })
    chunks.push(chunk)
  }
  // All in one turn: they take one round trip.
  const results = (await Promise.all(chunks)).flat()
  return reads.map((read, index) => {
    const result = results[index]
    return result?.success ? decode(read, result.returnData) : undefined
  })
}

function decode(read: Read, data: Hex): unknown {
  try {
    return decodeFunctionResult({ abi: read.abi, functionName: read.functionName, data })
  } catch {
    return undefined
  }
}
