/** A fake node: the JSON-RPC answers that follow from a chain and its contracts. */
import {
  decodeFunctionData,
  encodeAbiParameters,
  encodeFunctionResult,
  type Hash,
  type Hex,
  multicall3Abi,
  numberToHex,
  parseAbiParameters,
  toFunctionSelector,
} from 'viem'
import type { RpcLog } from '../../ingest/rpc/rpc.ts'
import { type Call, type Outcome, type Refusal, refusal } from './json-rpc.ts'

/** A node's view of a chain. A block is named by its number or its hash. */
export type ChainView = {
  chainId: number
  head: number
  finalized: number
  /** Null where the node does not have the block. */
  headerOf(block: number | Hash): unknown
  /** All logs of these blocks, in the node's order. */
  logsOf(blocks: BlockRange | Hash): { logs: readonly RpcLog[] } | Refusal
  /** The contracts as they are after the block. */
  contractsAt(block: number | Hash): ContractReader | Refusal
}

/** Both ends are inclusive. */
export type BlockRange = { from: number; to: number }
/** Answers a call of a contract; undefined where it reverts. */
export type ContractReader = (target: Hex, data: Hex) => Hex | undefined

export type LogQuery = {
  fromBlock?: string
  toBlock?: string
  blockHash?: Hash
  address?: Hex | readonly Hex[]
  topics?: readonly (Hex | readonly Hex[] | null)[]
}

export function respond(view: ChainView, { method, params }: Pick<Call, 'method' | 'params'>): Outcome {
  switch (method) {
    case 'eth_chainId':
      return { result: numberToHex(view.chainId) }
    case 'eth_blockNumber':
      return { result: numberToHex(view.head) }
    case 'eth_getBlockByNumber':
      return { result: view.headerOf(numberOf(view, params[0] as string)) }
    case 'eth_getBlockByHash':
      return { result: view.headerOf(params[0] as Hash) }
    case 'eth_getLogs':
      return logsOf(view, params[0] as LogQuery)
    case 'eth_call':
      return callOf(view, params[0] as { data: Hex }, params[1] as string | { blockHash: Hash } | undefined)
    default:
      return unknownMethod(method)
  }
}

export function unknownMethod(method: string): Refusal {
  return refusal(-32601, `the method ${method} does not exist/is not available`)
}

export function numberOf({ head, finalized }: Pick<ChainView, 'head' | 'finalized'>, tag = 'latest'): number {
  if (tag === 'latest') return head
  return tag === 'finalized' ? finalized : Number(tag)
}

function logsOf(view: ChainView, query: LogQuery): Outcome {
  const { blockHash, fromBlock, toBlock } = query
  const found = view.logsOf(blockHash ?? { from: numberOf(view, fromBlock), to: numberOf(view, toBlock) })
  return 'error' in found ? found : { result: found.logs.filter(filterOf(query)) }
}

function filterOf({ address, topics = [] }: LogQuery): (log: RpcLog) => boolean {
  const addresses = address === undefined ? undefined : [address].flat().map((one) => one.toLowerCase())
  return (log) => {
    if (addresses && !addresses.includes(log.address)) return false
    return topics.every((wanted, index) => {
      const topic = log.topics[index]
      return wanted === null || (topic !== undefined && [wanted].flat().includes(topic))
    })
  }
}

function callOf(view: ChainView, { data }: { data: Hex }, at?: string | { blockHash: Hash }): Outcome {
  const read = view.contractsAt(typeof at === 'object' ? at.blockHash : numberOf(view, at))
  if (typeof read !== 'function') return read
  const result = aggregate3(data, read)
  return result === undefined ? refusal(3, 'execution reverted') : { result }
}

/** The answer of Multicall3; undefined for its other functions. */
export function aggregate3(data: Hex, read: ContractReader): Hex | undefined {
  const { functionName, args } = decodeFunctionData({ abi: multicall3Abi, data })
  if (functionName !== 'aggregate3') return undefined
  const result = args[0].map(({ target, callData }) => {
    const returnData = read(target.toLowerCase() as Hex, callData)
    return { success: returnData !== undefined, returnData: returnData ?? '0x' }
  })
  return encodeFunctionResult({ abi: multicall3Abi, functionName, result })
}

export type Contract =
  /** A call for a balance fails where there is no `balanceOf`, one for decimals where there are none. */
  | {
      kind: 'token'
      symbol: string
      name: string
      decimals: number | undefined
      balanceOf?: (account: bigint) => bigint
    }
  | { kind: 'v3-pool'; factory: Hex; token0: Hex; token1: Hex; fee: number }

/** By lower-case address. */
export type Contracts = Readonly<Record<string, Contract>>

const names = new Map(
  [
    'symbol()',
    'name()',
    'decimals()',
    'balanceOf(address)',
    'factory()',
    'token0()',
    'token1()',
    'fee()',
    'getPool(address,address,uint24)',
    'poolKeys(bytes25)',
  ].map((signature) => [toFunctionSelector(signature), signature.slice(0, signature.indexOf('('))]),
)
const uint256 = parseAbiParameters('uint256')
const string = parseAbiParameters('string')

/** Name of the function that a call is for. */
export const functionOf = (data: Hex): string | undefined => names.get(data.slice(0, 10) as Hex)
const argumentOf = (data: Hex, index: number): bigint => BigInt(`0x${data.slice(10 + 64 * index, 74 + 64 * index)}`)
export const wordOf = (value: Hex | number | bigint): Hex => encodeAbiParameters(uint256, [BigInt(value)])
export const stringOf = (value: string): Hex => encodeAbiParameters(string, [value])

/** Tokens and pools answer for themselves; every address answers `getPool` for the pools whose factory it is. */
export function readContract(contracts: Contracts, target: Hex, data: Hex): Hex | undefined {
  const name = functionOf(data)
  if (name === 'getPool') return wordOf(poolOf(contracts, target, data) ?? 0)
  const contract = contracts[target]
  if (contract?.kind === 'token') {
    if (name === 'symbol' || name === 'name') return stringOf(contract[name])
    if (name === 'decimals' && contract.decimals !== undefined) return wordOf(contract.decimals)
    if (name === 'balanceOf' && contract.balanceOf) return wordOf(contract.balanceOf(argumentOf(data, 0)))
  }
  const isField = name === 'factory' || name === 'token0' || name === 'token1' || name === 'fee'
  return contract?.kind === 'v3-pool' && isField ? wordOf(contract[name]) : undefined
}

function poolOf(contracts: Contracts, factory: Hex, data: Hex): Hex | undefined {
  const found = Object.entries(contracts).find(
    ([, it]) =>
      it.kind === 'v3-pool' &&
      it.factory.toLowerCase() === factory &&
      [it.token0, it.token1, it.fee].every((value, index) => BigInt(value) === argumentOf(data, index)),
  )
  return found?.[0] as Hex | undefined
}
