/** A node: its view of the chain, and the JSON-RPC answers that follow from it. */
import {
  decodeFunctionData,
  encodeAbiParameters,
  encodeFunctionResult,
  type Hex,
  multicall3Abi,
  numberToHex,
  parseAbiParameters,
  toFunctionSelector,
} from 'viem'
import { ancestorOf, type Block, OLDEST } from './block.ts'
import { POOLS, type PoolContract, TOKENS } from './market.ts'

/** A node's view of the chain; all its answers follow from it. */
export type View = {
  chainId: number
  head: Block
  finalized: Block
  /** Blocks of other branches that the node has had, by hash: it still answers their logs. */
  past: ReadonlyMap<Hex, Block>
}

export type Call = { id: number; method: string; params: readonly unknown[] }
export type Outcome = { result: unknown } | { error: { code: number; message: string } }

const refusal = (code: number, message: string): Outcome => ({ error: { code, message } })

export function respond(view: View, { method, params }: Call): Outcome {
  switch (method) {
    case 'eth_chainId':
      return { result: numberToHex(view.chainId) }
    case 'eth_blockNumber':
      return { result: numberToHex(view.head.number) }
    case 'eth_getBlockByNumber':
      return { result: headerOf(blockOf(view, params[0] as string)) }
    case 'eth_getBlockByHash':
      return { result: headerOf(byHash(view, params[0] as Hex)) }
    case 'eth_getLogs':
      return logsOf(view, params[0] as LogQuery)
    case 'eth_call':
      return callOf(view, params[0] as { to: Hex; data: Hex }, params[1] as string | { blockHash: Hex } | undefined)
    default:
      return refusal(-32601, `the method ${method} does not exist/is not available`)
  }
}

function blockOf({ head, finalized }: View, tag: string): Block | undefined {
  if (tag === 'latest' || tag === 'pending') return head
  if (tag === 'finalized' || tag === 'safe') return finalized
  return ancestorOf(head, tag === 'earliest' ? OLDEST : Number(tag))
}

function byHash({ head, past }: View, hash: Hex): Block | undefined {
  for (let at: Block | undefined = head; at; at = at.parent) if (at.hash === hash) return at
  return past.get(hash)
}

export function headerOf(block: Block | undefined) {
  if (!block) return null
  return { ...block.header, transactions: [] }
}

type LogQuery = {
  fromBlock?: string
  toBlock?: string
  blockHash?: Hex
  address?: Hex | readonly Hex[]
  topics?: readonly (Hex | readonly Hex[] | null)[]
}

function logsOf(view: View, query: LogQuery): Outcome {
  const blocks: Block[] = []
  if (query.blockHash) {
    const block = byHash(view, query.blockHash)
    if (!block) return refusal(-32000, 'unknown block')
    blocks.push(block)
  } else {
    const from = blockNumberOf(view, query.fromBlock)
    // Past its head a node has nothing to say, and says so by an empty answer.
    const to = Math.min(view.head.number, blockNumberOf(view, query.toBlock))
    for (let at = ancestorOf(view.head, to); at && at.number >= from; at = at.parent) blocks.push(at)
  }
  return {
    result: blocks
      .reverse()
      .flatMap((block) => block.logs)
      .filter((log) => isWanted(log, query)),
  }
}

function blockNumberOf(view: View, tag = 'latest'): number {
  return tag.startsWith('0x') ? Number(tag) : (blockOf(view, tag)?.number ?? 0)
}

export function isWanted(log: Block['logs'][number], { address, topics }: LogQuery): boolean {
  const addresses = address === undefined ? undefined : [address].flat().map((one) => one.toLowerCase())
  if (addresses && !addresses.includes(log.address)) return false
  return (topics ?? []).every((wanted, index) => {
    const topic = log.topics[index]
    return wanted === null || (topic !== undefined && [wanted].flat().includes(topic))
  })
}

/** Multicall3's aggregate3 over what is there after the block; everything else reverts. */
function callOf(view: View, { data }: { data: Hex }, at: string | { blockHash: Hex } = 'latest'): Outcome {
  const block = typeof at === 'string' ? blockOf(view, at) : byHash(view, at.blockHash)
  if (!block) return refusal(-32000, 'header not found')
  const { functionName, args } = decodeFunctionData({ abi: multicall3Abi, data })
  if (functionName !== 'aggregate3') return refusal(3, 'execution reverted')
  const result = (args[0] as readonly { target: Hex; callData: Hex }[]).map(({ target, callData }) => {
    const returnData = read(block, target.toLowerCase() as Hex, callData)
    return { success: returnData !== undefined, returnData: returnData ?? '0x' }
  })
  return { result: encodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', result }) }
}

const names = new Map(
  [
    'symbol()',
    'name()',
    'decimals()',
    'factory()',
    'token0()',
    'token1()',
    'fee()',
    'balanceOf(address)',
    'getPool(address,address,uint24)',
    'poolKeys(bytes25)',
  ].map((signature) => [toFunctionSelector(signature), signature.slice(0, signature.indexOf('('))]),
)
const string = parseAbiParameters('string')
const uint256 = parseAbiParameters('uint256')
const poolKey = parseAbiParameters('address, address, uint24, int24, address')
const word = (value: Hex | number | bigint) => encodeAbiParameters(uint256, [BigInt(value)])
const NO_HOOKS = '0x0000000000000000000000000000000000000000'

function read(block: Block, target: Hex, data: Hex): Hex | undefined {
  const name = names.get(data.slice(0, 10) as Hex)
  const argument = (index: number) => BigInt(`0x${data.slice(10 + 64 * index, 74 + 64 * index)}`)
  const isThere = (pool: PoolContract) => block.pools.has(pool.id)
  if (name === 'poolKeys') {
    const id = data.slice(10, 60)
    const known = POOLS.find((pool) => pool.isInPositionManager && isThere(pool) && pool.id.slice(2, 52) === id)
    const key = known ? ([known.currency0, known.currency1, known.fee, 60, NO_HOOKS] as const) : undefined
    return encodeAbiParameters(poolKey, key ?? [NO_HOOKS, NO_HOOKS, 0, 0, NO_HOOKS])
  }
  if (name === 'getPool') {
    const found = POOLS.find(
      (pool) =>
        isThere(pool) &&
        pool.protocol === 'v3' &&
        pool.factory.toLowerCase() === target &&
        BigInt(pool.currency0) === argument(0) &&
        BigInt(pool.currency1) === argument(1) &&
        BigInt(pool.fee) === argument(2),
    )
    return word(found?.id ?? 0)
  }
  const token = TOKENS[target]
  if (token) {
    if (name === 'symbol' || name === 'name') return encodeAbiParameters(string, [token[name]])
    if (name === 'decimals') return token.decimals === undefined ? undefined : word(token.decimals)
    return name === 'balanceOf' ? word(BigInt(block.number) * argument(0)) : undefined
  }
  const pool = POOLS.find((one) => one.id === target && isThere(one))
  if (!pool) return undefined
  if (name === 'factory') return word(pool.factory)
  if (name === 'token0') return word(pool.currency0)
  if (name === 'token1') return word(pool.currency1)
  return name === 'fee' ? word(pool.fee) : undefined
}
