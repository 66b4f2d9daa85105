/** Many contract reads in one call, through Multicall3. Anybody can deploy a contract, so each of them may try to spoil the others' answers. */
import {
  type Abi,
  type Address,
  type Client,
  ContractFunctionZeroDataError,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  multicall3Abi,
} from 'viem'
import { call } from 'viem/actions'
import { classify, wordsOf } from './rpc-error.ts'

/** The same address on every network. */
const MULTICALL3: Address = '0xcA11bde05977b3631167028862bE2a173976CA11'

export type Read = { address: Address; abi: Abi; functionName: string; args?: readonly unknown[] }

const READS_PER_CALL = 200
/**
 * Ten times what so many reads of honest contracts take, and below what nodes allow. One contract can burn it all, but not
 * more, and memory for a long answer costs so much that it ends at a few megabytes.
 */
const GAS_PER_CALL = 20_000_000n

/** As geth, reth, Nethermind and anvil call it. */
const OUT_OF_GAS = /out ?of ?gas|OOG|gas required exceeds|VM execution error/i

type Result = { success: boolean; returnData: Hex }

const FAILED: Result = { success: false, returnData: '0x' }

/**
 * The answers in the order of `reads`; undefined where the contract reverted or answered something that is not of its ABI.
 * A node that fails is an error, never an answer: viem's own multicall would report both alike.
 */
export async function readMany(client: Client, reads: readonly Read[], blockNumber?: number): Promise<unknown[]> {
  const results = await ask(client, reads, READS_PER_CALL, blockNumber)
  return reads.map((read, index) => {
    const result = results[index]
    return result?.success ? decode(read, result.returnData) : undefined
  })
}

/** In one turn: all the calls take one round trip. */
async function ask(client: Client, reads: readonly Read[], perCall: number, blockNumber?: number): Promise<Result[]> {
  const calls: Promise<readonly Result[]>[] = []
  for (let start = 0; start < reads.length; start += perCall) {
    calls.push(askTogether(client, reads.slice(start, start + perCall), blockNumber))
  }
  return (await Promise.all(calls)).flat()
}

/**
 * A contract that burns its gas leaves a 64th of it to those after it, so a failure says something of a contract only where
 * that was asked alone. Where nothing is left for the call as a whole, smaller ones find out whose fault it was.
 */
async function askTogether(client: Client, reads: readonly Read[], blockNumber?: number): Promise<readonly Result[]> {
  const isAlone = reads.length === 1
  const results = await aggregate(client, reads, blockNumber)
  if (!results) return isAlone ? [FAILED] : ask(client, reads, Math.floor(Math.sqrt(reads.length)), blockNumber)
  if (isAlone) return results
  const failed = reads.filter((_, index) => !results[index]?.success)
  const again = await ask(client, failed, 1, blockNumber)
  return results.map((result) => (result.success ? result : (again.shift() ?? FAILED)))
}

/** Undefined where the call as a whole failed for what the contracts did: Multicall3 itself never reverts. */
async function aggregate(
  client: Client,
  reads: readonly Read[],
  blockNumber?: number,
): Promise<readonly Result[] | undefined> {
  const calls = reads.map((read) => ({ target: read.address, allowFailure: true, callData: encodeFunctionData(read) }))
  const multicall = { abi: multicall3Abi, functionName: 'aggregate3' } as const
  const request = call(client, {
    to: MULTICALL3,
    data: encodeFunctionData({ ...multicall, args: [calls] }),
    gas: GAS_PER_CALL,
    ...(blockNumber === undefined ? {} : { blockNumber: BigInt(blockNumber) }),
  })
  const answer = await request.catch((error: unknown) => {
    if (OUT_OF_GAS.test(wordsOf(error)) || classify(error).kind === 'too-many-results') return undefined
    throw error
  })
  if (!answer) return undefined
  // A node without Multicall3 says nothing of any contract.
  if (!answer.data) throw new ContractFunctionZeroDataError({ functionName: 'aggregate3' })
  return decodeFunctionResult({ ...multicall, data: answer.data })
}

function decode(read: Read, data: Hex): unknown {
  try {
    return decodeFunctionResult({ abi: read.abi, functionName: read.functionName, data })
  } catch {
    return undefined
  }
}
