/** A JSON-RPC node over recorded logs: real HTTP, batches, and the errors that real providers answer, on demand. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  bytesToHex,
  decodeFunctionData,
  encodeFunctionResult,
  type Hex,
  multicall3Abi,
  numberToHex,
  toFunctionSelector,
  zeroHash,
} from 'viem'
import { encodeAbiParameters, parseAbiParameters } from 'viem/utils'
import { bloomOf } from '../../ingest/proof/bloom.ts'
import { encodeReceipt, rootOf } from '../../ingest/proof/receipts-root.ts'
import type { RpcLog } from '../../ingest/rpc/rpc.ts'
import { madeUpHash } from './recorded.ts'

/** A token or pool that the node can be asked about. */
export type RecordedContract =
  /** `balance`: that of every account; calls for it fail where absent. */
  | { kind: 'token'; symbol: string; name: string; decimals: number; balance?: number }
  | { kind: 'v3-pool'; factory: Hex; token0: Hex; token1: Hex; fee: number }

export type RecordedChain = {
  chainId: number
  /** The node has blocks up to here, final up to `finalized`. Both may be changed while it runs. */
  head: number
  finalized: number
  logs: readonly RpcLog[]
  /** By lower-case address. */
  contracts: Readonly<Record<string, RecordedContract>>
  timestampOf(block: number): number
}

/** Half of the answer arrives, in an answer of half the length, or before the connection ends, or before nothing more; or none of it. */
type Spoiled = 'cut text' | 'cut connection' | 'half, then silence' | 'silence' | 'reset'
type HttpAnswer = { status: number; headers?: Record<string, string>; body?: string }
type RpcError = { code: number; message: string }
/** Fault of the node, until it is changed. */
export type Faults = {
  /** More logs than this in one answer are refused, as the big providers do. */
  maxLogs?: number
  /** The next calls of a method fail. */
  failNext: { method: string; error: RpcError }[]
  /** The next requests answer this HTTP status, with these headers. */
  nextStatus: (number | HttpAnswer)[]
  /** Every request waits this long. */
  delayMs?: number
  /** Connections are cut as soon as a request is read, as those of a process that dies. */
  reset?: boolean
  /** The next requests answer 200 with something that is not JSON. */
  malformedNext?: number
  /** Outcome of the next answers. */
  spoilNext?: Spoiled[]
  /** The first or the last answer of every batch is missing. */
  shortBatches?: 'first' | 'last'
  /** Answers of a batch come in another order than the requests. */
  shuffleBatches?: boolean
  /** More requests than this in any second are refused with 429, and these headers. */
  limit?: { perSecond: number; headers?: Record<string, string> }
  /** A whole batch is answered with one object, as gateways do that take none. */
  refuseBatches?: string
  /** Ranges wider than this are refused, however few logs they have. */
  maxBlocks?: number
  /** Logs that the node leaves out of its answers, though its blooms have them. */
  hideLogs?: (log: RpcLog) => boolean
  /** Logs that the node answers though no block has them. */
  inventLogs?: readonly RpcLog[]
  /** Receipts that the node has lost: it answers `null` in their places. */
  hideReceipts?: (block: number) => boolean
  /** The logs of a receipt as the node tells them, where that is not as they are. */
  twistReceipt?: (logs: readonly RpcLog[]) => readonly RpcLog[]
  /** Headers have empty blooms, as those of nodes that keep none. */
  hideBlooms?: boolean
  /** State is read by the number of a block only, as by nodes before EIP-1898. */
  refuseBlockHash?: boolean
  /** Answer to a request for the block `finalized`. */
  finalized?: { result: null } | { error: RpcError }
  /** Methods that it does not know. */
  lacksMethods?: readonly string[]
  /** Logs as the node tells them, where that is not as they are. */
  twistLog?: (log: RpcLog) => RpcLog
  /** Headers as the node tells them, where that is not as they are. */
  twistHeader?: (header: Record<string, unknown>) => unknown
  /** Answers in the place of the node's own. */
  answer?: (method: string, params: readonly unknown[]) => Outcome | undefined
  /** Requests, each with all of its calls, that are answered with an HTTP status, or not at all. */
  breakRequest?: (calls: readonly { method: string; params: readonly unknown[] }[]) => number | 'reset' | undefined
  /** Called before each answer: faults may begin and end with it. */
  onCall?: (method: string) => void
  /** Leave `blockTimestamp` out of logs, as older nodes do. */
  hideTimestamps?: boolean
}

export type RpcServer = {
  url: string
  chain: RecordedChain
  faults: Faults
  /** How often each method was called. */
  calls: Record<string, number>
  /** Headers of the last request. */
  headers: IncomingHttpHeaders
  /** How many requests the `limit` has refused. */
  refused: number
  stop(): Promise<void>
}

type Call = { id: number; method: string; params: unknown[] }

/** `host`: where it listens. */
export async function startRpcServer(chain: RecordedChain, host = '127.0.0.1'): Promise<RpcServer> {
  const faults: Faults = { failNext: [], nextStatus: [] }
  const calls: Record<string, number> = {}

  async function answer({ id, method, params }: Call) {
    calls[method] = (calls[method] ?? 0) + 1
    faults.onCall?.(method)
    const failing = faults.failNext.findIndex((fault) => fault.method === method)
    const [fault] = failing === -1 ? [] : faults.failNext.splice(failing, 1)
    const own = fault ? { error: fault.error } : faults.answer?.(method, params ?? [])
    const outcome = own ?? (await withRoot(chain, respond(chain, faults, method, params)))
    return { jsonrpc: '2.0', id, ...outcome }
  }

  let lastSecond: number[] = []
  function isTooFast(count: number): boolean {
    const now = performance.now()
    lastSecond = lastSecond.filter((time) => time > now - 1_000)
    if (!faults.limit || lastSecond.length + count <= faults.limit.perSecond) {
      lastSecond.push(...new Array<number>(count).fill(now))
      return false
    }
    node.refused += count
    return true
  }

  async function answerAll(body: Call | Call[]): Promise<unknown> {
    if (!Array.isArray(body)) return answer(body)
    if (faults.refuseBatches) {
      return { jsonrpc: '2.0', id: null, error: { code: -32600, message: faults.refuseBatches } }
    }
    const answers = await Promise.all(body.map(answer))
    if (faults.shuffleBatches) answers.reverse()
    if (faults.shortBatches === 'first') answers.shift()
    if (faults.shortBatches === 'last') answers.pop()
    return answers
  }

  const server = createServer(async (request, response) => {
    const body = JSON.parse(await textOf(request)) as Call | Call[]
    node.headers = request.headers
    if (faults.delayMs) await new Promise((resolve) => setTimeout(resolve, faults.delayMs))
    const broken = faults.breakRequest?.([body].flat())
    if (faults.reset || broken === 'reset') return void request.socket.destroy()
    const tooFast = isTooFast(Array.isArray(body) ? body.length : 1)
    const next = tooFast ? { status: 429, headers: faults.limit?.headers ?? {} } : (broken ?? faults.nextStatus.shift())
    if (next !== undefined) {
      const { status, headers, body: text }: HttpAnswer = typeof next === 'number' ? { status: next } : next
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(text ?? JSON.stringify({ error: `HTTP ${status}` }))
      return
    }
    const isMalformed = (faults.malformedNext ?? 0) > 0
    if (isMalformed) faults.malformedNext = (faults.malformedNext ?? 0) - 1
    const text = isMalformed ? '<html><body>502 Bad Gateway</body></html>' : JSON.stringify(await answerAll(body))
    // An answer of a process that died meanwhile does not arrive.
    if (faults.reset) return void request.socket.destroy()
    const spoiled = faults.spoilNext?.shift()
    if (spoiled === 'reset') return void request.socket.destroy()
    if (spoiled === 'silence') return
    const sent = spoiled ? text.slice(0, Math.floor(text.length / 2)) : text
    const length = Buffer.byteLength(spoiled === 'cut text' ? sent : text)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': length })
    if (spoiled === undefined || spoiled === 'cut text') response.end(sent)
    else response.write(sent, () => spoiled === 'cut connection' && request.socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const node: RpcServer = {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    chain,
    faults,
    calls,
    headers: {},
    refused: 0,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return node
}

export type Outcome = { result: unknown } | { error: RpcError }

function respond(chain: RecordedChain, faults: Faults, method: string, params: unknown[]): Outcome {
  if (faults.lacksMethods?.includes(method)) return unknownMethod(method)
  switch (method) {
    case 'eth_chainId':
      return { result: numberToHex(chain.chainId) }
    case 'eth_blockNumber':
      return { result: numberToHex(chain.head) }
    case 'eth_getBlockByNumber':
      if (params[0] === 'finalized' && faults.finalized) return faults.finalized
      return { result: headerOf(chain, faults, numberOf(chain, params[0] as string)) }
    case 'eth_getBlockByHash': {
      const number = Number(`0x${(params[0] as string).slice(-12)}`)
      return { result: headerOf(chain, faults, number) }
    }
    case 'eth_getLogs':
      return logsOf(chain, faults, params[0] as LogQuery)
    case 'eth_getBlockReceipts': {
      const number = numberOf(chain, params[0] as string)
      const transactions = number > chain.head ? [] : transactionsOf(logsIn(chain, number))
      if (transactions.length === 0 && faults.hideReceipts?.(number)) return { result: null }
      return { result: transactions.map((hash) => receiptOf(chain, faults, hash)) }
    }
    case 'eth_getTransactionReceipt':
      return { result: receiptOf(chain, faults, params[0] as Hex) }
    case 'eth_call':
      return callAt(chain, faults, params)
    default:
      return unknownMethod(method)
  }
}

function unknownMethod(method: string): Outcome {
  return { error: { code: -32601, message: `the method ${method} does not exist/is not available` } }
}

function transactionsOf(logs: readonly RpcLog[]): Hex[] {
  return [...new Set(logs.map((log) => log.transactionHash))]
}

function receiptOf({ logs }: RecordedChain, faults: Faults, transactionHash: Hex) {
  const own = logs.filter((log) => log.transactionHash === transactionHash)
  const [first] = own
  if (!first || faults.hideReceipts?.(Number(first.blockNumber))) return null
  const { blockHash, blockNumber } = first
  return { ...RECEIPT, transactionHash, blockHash, blockNumber, logs: faults.twistReceipt?.(own) ?? own }
}

function numberOf(chain: RecordedChain, tag: string): number {
  if (tag === 'latest') return chain.head
  if (tag === 'finalized' || tag === 'safe') return chain.finalized
  if (tag === 'earliest') return 0
  return Number(tag)
}

function headerOf(chain: RecordedChain, faults: Faults, number: number) {
  if (number > chain.head || number < 0) return null
  const hashOf = (block: number) => (block < 0 ? zeroHash : (logsIn(chain, block)[0]?.blockHash ?? madeUpHash(block)))
  const header = {
    number: numberToHex(number),
    hash: hashOf(number),
    parentHash: hashOf(number - 1),
    timestamp: numberToHex(chain.timestampOf(number)),
    logsBloom: bytesToHex(bloomOf(faults.hideBlooms ? [] : logsIn(chain, number))),
    transactions: transactionsOf(logsIn(chain, number)),
  }
  return faults.twistHeader ? faults.twistHeader(header) : header
}

const NO_LOGS: readonly RpcLog[] = []
const indexes = new WeakMap<readonly RpcLog[], { length: number; byBlock: Map<string, RpcLog[]> }>()

function logsIn({ logs }: RecordedChain, block: number): readonly RpcLog[] {
  let index = indexes.get(logs)
  if (index?.length !== logs.length) {
    const byBlock = new Map<string, RpcLog[]>()
    for (const log of logs) byBlock.set(log.blockNumber, [...(byBlock.get(log.blockNumber) ?? []), log])
    index = { length: logs.length, byBlock }
    indexes.set(logs, index)
  }
  return index.byBlock.get(numberToHex(block)) ?? NO_LOGS
}

const RECEIPT = { type: '0x2', status: '0x1', cumulativeGasUsed: '0x5208' }
const roots = new WeakMap<readonly RpcLog[], Promise<Hex>>()

/** A header with the root of its receipts, whatever the node answers as receipts. The recording has no other contracts' logs. */
async function withRoot(chain: RecordedChain, outcome: Outcome): Promise<Outcome> {
  const header = 'result' in outcome ? (outcome.result as { parentHash?: Hex; number: Hex } | null) : null
  const isNumbered = typeof header?.number === 'string' && Number.isSafeInteger(Number(header.number))
  if (!header?.parentHash || !isNumbered) return outcome
  const logs = logsIn(chain, Number(header.number))
  const receipts = transactionsOf(logs).map((hash) => ({
    ...RECEIPT,
    logs: logs.filter((log) => log.transactionHash === hash),
  }))
  const root = roots.get(logs) ?? rootOf(receipts.map(encodeReceipt).filter((value) => value !== undefined))
  roots.set(logs, root)
  return { result: { ...header, receiptsRoot: await root } }
}

type LogQuery = {
  fromBlock?: string
  toBlock?: string
  blockHash?: Hex
  address?: Hex | Hex[]
  topics?: (Hex | Hex[] | null)[]
}

function logsOf(chain: RecordedChain, faults: Faults, query: LogQuery): Outcome {
  const from = numberOf(chain, query.fromBlock ?? 'latest')
  const to = numberOf(chain, query.toBlock ?? 'latest')
  const addresses = query.address === undefined ? undefined : [query.address].flat().map((it) => it.toLowerCase())
  const found = [...chain.logs, ...(faults.inventLogs ?? [])].filter((log) => {
    const number = Number(log.blockNumber)
    if (number > chain.head) return false
    if (query.blockHash ? log.blockHash !== query.blockHash : number < from || number > to) return false
    if (addresses && !addresses.includes(log.address)) return false
    return (query.topics ?? []).every((wanted, index) => {
      if (wanted === null) return true
      const topic = log.topics[index]
      return topic !== undefined && [wanted].flat().includes(topic)
    })
  })
  if (faults.maxBlocks !== undefined && to - from >= faults.maxBlocks) {
    return { error: { code: -32614, message: `eth_getLogs is limited to a ${faults.maxBlocks} range` } }
  }
  if (faults.maxLogs !== undefined && found.length > faults.maxLogs) {
    return { error: { code: -32005, message: `query returned more than ${faults.maxLogs} results` } }
  }
  const told = found.filter((log) => !faults.hideLogs?.(log)).map((log) => faults.twistLog?.(log) ?? log)
  return { result: faults.hideTimestamps ? told.map(({ blockTimestamp: _, ...log }) => log) : told }
}

function callAt(chain: RecordedChain, faults: Faults, [call, at]: unknown[]): Outcome {
  if (typeof at === 'object' && at !== null) {
    if (faults.refuseBlockHash) return { error: { code: -32602, message: 'invalid argument 1: hex string expected' } }
    const { blockHash } = at as { blockHash: Hex }
    const header = headerOf(chain, faults, Number(`0x${blockHash.slice(-12)}`))
    if ((header as { hash?: unknown } | null)?.hash !== blockHash)
      return { error: { code: -32000, message: 'header for hash not found' } }
  }
  return callOf(chain, call as { to: Hex; data: Hex })
}

/** Multicall3's aggregate3 over the recorded contracts; everything else reverts. */
function callOf(chain: RecordedChain, { data }: { to: Hex; data: Hex }): Outcome {
  const { functionName, args } = decodeFunctionData({ abi: multicall3Abi, data })
  if (functionName !== 'aggregate3') return { error: { code: 3, message: 'execution reverted' } }
  const results = (args[0] as readonly { target: Hex; callData: Hex }[]).map(({ target, callData }) => {
    const returnData = read(chain, target.toLowerCase(), callData)
    return { success: returnData !== undefined, returnData: returnData ?? '0x' }
  })
  return { result: encodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', result: results }) }
}

const selectors = Object.fromEntries(
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
  ].map((signature) => [toFunctionSelector(signature), signature.slice(0, signature.indexOf('('))]),
)

function read(chain: RecordedChain, target: string, callData: Hex): Hex | undefined {
  const name = selectors[callData.slice(0, 10)]
  const contract = chain.contracts[target]
  const text = (value: string) => encodeAbiParameters(parseAbiParameters('string'), [value])
  const word = (value: Hex | number) => encodeAbiParameters(parseAbiParameters('uint256'), [BigInt(value)])
  if (contract?.kind === 'token') {
    if (name === 'symbol') return text(contract.symbol)
    if (name === 'name') return text(contract.name)
    if (name === 'decimals') return word(contract.decimals)
    if (name === 'balanceOf' && contract.balance !== undefined) return word(contract.balance)
  }
  if (
    contract?.kind === 'v3-pool' &&
    (name === 'factory' || name === 'token0' || name === 'token1' || name === 'fee')
  ) {
    return word(contract[name])
  }
  if (name !== 'getPool') return undefined
  const [token0, token1, fee] = [10, 74, 138].map((start) => BigInt(`0x${callData.slice(start, start + 64)}`))
  const pool = Object.entries(chain.contracts).find(
    ([, it]) =>
      it.kind === 'v3-pool' &&
      it.factory.toLowerCase() === target &&
      BigInt(it.token0) === token0 &&
      BigInt(it.token1) === token1 &&
      BigInt(it.fee) === fee,
  )
  return word((pool?.[0] as Hex | undefined) ?? 0)
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
