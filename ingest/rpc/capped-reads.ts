/**
 * Contract reads in one call, each with gas of its own: Multicall3 hands all that is left to a contract, and one that burns it
 * takes the others with it. The call creates a contract that is never stored; its constructor is this program.
 *
 *   input   behind the program, for each read: address (20 bytes), length of the data (2), data
 *   output  for each read: 1 where it succeeded (1), length of the answer (4), the answer where that has at most 320 bytes
 *
 *         PUSH1 end CODESIZE SUB DUP1 PUSH1 end PUSH1 0 CODECOPY DUP1 PUSH1 0      [size, out, in], the input in memory
 *   next: DUP3 DUP2 LT ISZERO PUSH1 done JUMPI
 *         DUP1 PUSH1 20 ADD MLOAD PUSH1 240 SHR                                   [size, out, in, length]
 *         PUSH1 0 PUSH1 0 DUP3 DUP5 PUSH1 22 ADD DUP6 MLOAD PUSH1 96 SHR
 *         PUSH3 200000 STATICCALL DUP4 MSTORE8                                    success at `out`
 *         ADD PUSH1 22 ADD SWAP1                                                  [size, in, out]
 *         RETURNDATASIZE DUP1 PUSH1 224 SHL DUP3 PUSH1 1 ADD MSTORE               length at `out` + 1
 *         DUP1 PUSH2 320 LT ISZERO MUL SWAP1 PUSH1 5 ADD                          [size, in, length or 0, out]
 *         DUP2 PUSH1 0 DUP3 RETURNDATACOPY ADD SWAP1 PUSH1 next JUMP              [size, out, in]
 *   done: POP DUP2 SWAP1 SUB SWAP1 RETURN
 *   end:
 */
import { type Abi, type Address, type Client, concat, encodeFunctionData, type Hex, numberToHex, size } from 'viem'
import { call } from 'viem/actions'
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

const PROGRAM: Hex =
  '0x605d380380605d6000398060005b82811015605657806014015160f01c600060008284601601855160601c62030d40fa835301601601903d8060e01b82600101528061014010150290600501816000823e0190600d565b5081900390f3'
const MAX_ANSWER_BYTES = 320
/** 60 · 200,000 gas, and 200 gas for each byte of the output, which a node takes for code: that has at most 24,576 bytes. */
const READS_PER_CALL = 60
/** Success and length, in hex. */
const HEAD_DIGITS = 10

/** Results in the order of `reads`; an answer that is too long counts as a failure. Undefined where the node refuses such calls. */
export async function readCapped(
  client: Client,
  reads: readonly ContractRead[],
  at: ReadAt = {},
): Promise<ReadResult[] | undefined> {
  const calls: Promise<ReadResult[] | undefined>[] = []
  for (let start = 0; start < reads.length; start += READS_PER_CALL) {
    calls.push(readTogether(client, reads.slice(start, start + READS_PER_CALL), at))
  }
  const results = await Promise.all(calls)
  return results.includes(undefined) ? undefined : results.flatMap((some) => some ?? [])
}

async function readTogether(
  client: Client,
  reads: readonly ContractRead[],
  at: ReadAt,
): Promise<ReadResult[] | undefined> {
  const input = reads.map((read) => {
    const data = encodeFunctionData(read)
    return concat([read.address, numberToHex(size(data), { size: 2 }), data])
  })
  const request = call(client, {
    data: concat([PROGRAM, ...input]),
    gas: GAS_PER_CALL,
    ...at,
  })
  const answer = await request.catch((error: unknown) => {
    if (isRefusal(error)) return undefined
    throw error
  })
  return answer?.data && decodeOutput(answer.data, reads.length)
}

function decodeOutput(output: Hex, reads: number): ReadResult[] | undefined {
  const results: ReadResult[] = []
  for (let at = 2; at < output.length; ) {
    const length = Number.parseInt(output.slice(at + 2, at + HEAD_DIGITS), 16)
    const isWhole = length <= MAX_ANSWER_BYTES
    const end = at + HEAD_DIGITS + (isWhole ? 2 * length : 0)
    const success = isWhole && output.slice(at, at + 2) === '01'
    results.push({ success, returnData: `0x${output.slice(at + HEAD_DIGITS, end)}` })
    at = end
  }
  return results.length === reads ? results : undefined
}
