/** Many contract reads in one call through Multicall3. Each contract may be hostile to the others in the call. */
import { type Address, type Client, decodeFunctionResult, encodeFunctionData, type Hex, multicall3Abi } from 'viem'
import { call } from 'viem/actions'
import {
  type ContractRead,
  FAILED,
  GAS_PER_CALL,
  isGasFailure,
  type ReadAt,
  type ReadResult,
  readCapped,
} from './capped-reads.ts'
import { BadAnswer, classify } from './rpc-error.ts'

/** The same address on every network. */
const MULTICALL3: Address = '0xcA11bde05977b3631167028862bE2a173976CA11'

export type ReadOptions = {
  /** The newest block where absent. */
  at?: ReadAt
  /**
   * A read that always succeeds and needs at least as much gas as any honest contract of `reads`. Where a read fails and the witness after
   * it succeeds, the contract failed, not the gas.
   */
  witness?: ContractRead
  /** How many reads that fail within 200,000 gas or 320 bytes are repeated alone with all gas of a call: long texts need it. */
  maxAlone?: number
}

const READS_PER_CALL = 200
const MAX_ALONE = 20

/** The precompiled pairing check (EIP-197): without input it answers 1, for 45,000 gas on every network. */
const PAIRING: Address = '0x0000000000000000000000000000000000000008'
const pairing = { target: PAIRING, allowFailure: false, callData: '0x' } as const
const pairings = (count: number): ContractRead => ({
  address: MULTICALL3,
  abi: multicall3Abi,
  functionName: 'aggregate3',
  args: [Array.from({ length: count }, () => pairing)],
})
/** A million gas: no honest view of a token needs more. */
const MILLION_GAS = pairings(22)
const CHEAP = pairings(1)

/**
 * Answers in the order of `reads`; undefined where the contract reverted or its answer does not fit its ABI. A failing node throws: viem's
 * own multicall reports both alike. Whatever the contracts do, the number of calls is at most reads / 60 + `maxAlone`.
 */
export async function readMany(
  client: Client,
  reads: readonly ContractRead[],
  options: ReadOptions = {},
): Promise<unknown[]> {
  const asking = { client, options, alone: options.maxAlone ?? MAX_ALONE }
  const results = await ask(asking, reads, READS_PER_CALL)
  return reads.map((read, index) => {
    const result = results[index]
    return result?.success ? decode(read, result.returnData) : undefined
  })
}

/** `alone`: remaining number of single reads. */
type Multicall = { client: Client; options: ReadOptions; alone: number }

/** All calls in parallel: one round trip. */
async function ask(asking: Multicall, reads: readonly ContractRead[], perCall: number): Promise<ReadResult[]> {
  const calls: Promise<readonly ReadResult[]>[] = []
  for (let start = 0; start < reads.length; start += perCall) {
    calls.push(askTogether(asking, reads.slice(start, start + perCall)))
  }
  return (await Promise.all(calls)).flat()
}

async function askTogether(asking: Multicall, reads: readonly ContractRead[]): Promise<readonly ReadResult[]> {
  const results = await aggregate(asking, reads)
  const isAlone = reads.length === 1
  if (isAlone) return results ?? [FAILED]
  if (!results) return askCapped(asking, reads)
  const failed = reads.filter((_, index) => !results[index]?.success)
  const again = failed.length > 0 ? [...(await decide(asking, failed))] : []
  return results.map((result) => (result.success ? result : (again.shift() ?? FAILED)))
}

/**
 * A contract that burns its gas leaves a 64th of it to the reads after it. A failure is the contract's only where gas was left: gas only
 * shrinks, so a successful witness at the end proves it for every read before.
 */
async function decide(asking: Multicall, reads: readonly ContractRead[]): Promise<readonly ReadResult[]> {
  const { witness } = asking.options
  const results = await aggregate(asking, [witness ?? CHEAP, ...reads, witness ?? MILLION_GAS])
  if (!results || (results[0]?.success && !results.at(-1)?.success)) return askCapped(asking, reads)
  // Without a working witness a failure proves nothing.
  return results[0]?.success ? results.slice(1, -1) : ask(asking, reads, 1)
}

/** Gas per read is capped, so no read can burn another's. */
async function askCapped(asking: Multicall, reads: readonly ContractRead[]): Promise<readonly ReadResult[]> {
  const { client, options } = asking
  const results = await readCapped(client, reads, options.at)
  // Smaller calls isolate the failing read.
  if (!results) return ask(asking, reads, Math.floor(Math.sqrt(reads.length)))
  return Promise.all(
    results.map(async (result, index) => {
      if (result.success || asking.alone === 0) return result
      asking.alone -= 1
      return (await askTogether(asking, reads.slice(index, index + 1)))[0] ?? FAILED
    }),
  )
}

/** Undefined where the whole call failed: Multicall3 itself never reverts. */
async function aggregate(
  { client, options: { at = {} } }: Multicall,
  reads: readonly ContractRead[],
): Promise<readonly ReadResult[] | undefined> {
  const calls = reads.map((read) => ({ target: read.address, allowFailure: true, callData: encodeFunctionData(read) }))
  const request = call(client, {
    to: MULTICALL3,
    data: encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args: [calls] }),
    gas: GAS_PER_CALL,
    ...at,
  })
  const answer = await request.catch((error: unknown) => {
    const { kind } = classify(error)
    if (isGasFailure(error) || kind === 'too-many-results') return undefined
    throw kind === 'reverted' ? withoutMulticall() : error
  })
  if (!answer) return undefined
  if (!answer.data) throw withoutMulticall()
  return resultsIn(answer.data, reads.length)
}

/** Nothing is known about the contracts then. Another endpoint may have it. */
function withoutMulticall(): BadAnswer {
  return new BadAnswer('contradictory', 'The node says that Multicall3 is not there or reverts, which it never does.')
}

/**
 * `(bool success, bytes returnData)[]`. Multicall3 answers each call, also where a contract fails, so another form is the node's. A general decoder
 * follows offsets that point to one long text a thousand times.
 */
function resultsIn(data: Hex, reads: number): ReadResult[] {
  const bytes = (data.length - 2) / 2
  const wordAt = (at: number) => Number(`0x${data.slice(2 + 2 * at, 66 + 2 * at)}`)
  let isWhole = wordAt(0) === 32 && wordAt(32) === reads
  let left = bytes
  const results: ReadResult[] = []
  for (let index = 0; isWhole && index < reads; index++) {
    const at = 64 + wordAt(64 + 32 * index)
    const start = at + 96
    const end = start + wordAt(at + 64)
    left -= end - at
    isWhole = left >= 0 && end <= bytes && wordAt(at + 32) === 64
    results.push({
      success: wordAt(at) === 1,
      returnData: `0x${isWhole ? data.slice(2 + 2 * start, 2 + 2 * end) : ''}`,
    })
  }
  if (isWhole) return results
  throw new BadAnswer('malformed', `The node's answer to ${reads} reads in one call is not that of Multicall3.`, {
    isFault: true,
  })
}

function decode(read: ContractRead, data: Hex): unknown {
  try {
    return decodeFunctionResult({ abi: read.abi, functionName: read.functionName, data })
  } catch {
    return undefined
  }
}
