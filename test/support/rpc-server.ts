/** A JSON-RPC node over recorded logs: real HTTP, batches, and the errors that real providers answer, on demand. */
import type { IncomingHttpHeaders } from 'node:http'
import { bytesToHex, type Hash, type Hex, numberToHex, zeroHash } from 'viem'
import { bloomOf } from '../../ingest/proof/bloom.ts'
import { encodeReceipt, rootOf } from '../../ingest/proof/receipts-root.ts'
import type { RpcLog } from '../../ingest/rpc/rpc.ts'
import {
  type ChainView,
  type Contracts,
  type LogQuery,
  numberOf,
  readContract,
  respond,
  unknownMethod,
} from './fake-node.ts'
import { type Call, type Outcome, type Refusal, refusal, serveTexts } from './json-rpc.ts'
import { madeUpHash } from './recorded.ts'

export type RecordedChain = {
  chainId: number
  /** The node has blocks up to here, final up to `finalized`. Both may be changed while it runs. */
  head: number
  finalized: number
  logs: readonly RpcLog[]
  contracts: Contracts
  timestampOf(block: number): number
}

/** Half of the answer arrives, in an answer of half the length, or before the connection ends, or before nothing more; or none of it. */
type Spoiled = 'cut text' | 'cut connection' | 'half, then silence' | 'silence' | 'reset'
type HttpAnswer = { status: number; headers?: Record<string, string>; body?: string }
/** Fault of the node, until it is changed. */
export type Faults = {
  /** More logs than this in one answer are refused, as the big providers do. */
  maxLogs?: number
  /** The next calls of a method fail. */
  failNext: { method: string; error: Refusal['error'] }[]
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
  finalized?: { result: null } | Refusal
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
    const outcome = own ?? (await withRoot(chain, answerOf(chain, faults, method, params)))
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

  const { url, stop } = await serveTexts(async (text, response, request) => {
    const body = JSON.parse(text) as Call | Call[]
    node.headers = request.headers
    if (faults.delayMs) await new Promise((resolve) => setTimeout(resolve, faults.delayMs))
    const broken = faults.breakRequest?.([body].flat())
    if (faults.reset || broken === 'reset') return void request.socket.destroy()
    const tooFast = isTooFast(Array.isArray(body) ? body.length : 1)
    const next = tooFast ? { status: 429, headers: faults.limit?.headers ?? {} } : (broken ?? faults.nextStatus.shift())
    if (next !== undefined) {
      const { status, headers, body: page }: HttpAnswer = typeof next === 'number' ? { status: next } : next
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(page ?? JSON.stringify({ error: `HTTP ${status}` }))
      return
    }
    const isMalformed = (faults.malformedNext ?? 0) > 0
    if (isMalformed) faults.malformedNext = (faults.malformedNext ?? 0) - 1
    const whole = isMalformed ? '<html><body>502 Bad Gateway</body></html>' : JSON.stringify(await answerAll(body))
    // An answer of a process that died meanwhile does not arrive.
    if (faults.reset) return void request.socket.destroy()
    const spoiled = faults.spoilNext?.shift()
    if (spoiled === 'reset') return void request.socket.destroy()
    if (spoiled === 'silence') return
    const sent = spoiled ? whole.slice(0, Math.floor(whole.length / 2)) : whole
    const length = Buffer.byteLength(spoiled === 'cut text' ? sent : whole)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': length })
    if (spoiled === undefined || spoiled === 'cut text') response.end(sent)
    else response.write(sent, () => spoiled === 'cut connection' && request.socket.destroy())
  }, host)
  const node: RpcServer = { url, chain, faults, calls, headers: {}, refused: 0, stop }
  return node
}

function answerOf(chain: RecordedChain, faults: Faults, method: string, params: readonly unknown[]): Outcome {
  if (faults.lacksMethods?.includes(method)) return unknownMethod(method)
  const own = () => respond(viewOf(chain, faults), { method, params })
  switch (method) {
    case 'eth_getBlockByNumber':
      return params[0] === 'finalized' && faults.finalized ? faults.finalized : own()
    case 'eth_getLogs':
      return toldLogs(chain, faults, params[0] as LogQuery, own())
    case 'eth_getBlockReceipts': {
      const number = numberOf(chain, params[0] as string)
      const transactions = number > chain.head ? [] : transactionsOf(logsIn(chain, number))
      if (transactions.length === 0 && faults.hideReceipts?.(number)) return { result: null }
      return { result: transactions.map((hash) => receiptOf(chain, faults, hash)) }
    }
    case 'eth_getTransactionReceipt':
      return { result: receiptOf(chain, faults, params[0] as Hex) }
    default:
      return own()
  }
}

function viewOf(chain: RecordedChain, faults: Faults): ChainView {
  const { chainId, head, finalized, contracts } = chain
  return {
    chainId,
    head,
    finalized,
    headerOf: (block) => headerOf(chain, faults, block),
    logsOf(blocks) {
      const logs = [...chain.logs, ...(faults.inventLogs ?? [])].filter(({ blockNumber, blockHash }) => {
        const number = Number(blockNumber)
        if (number > head) return false
        return typeof blocks === 'string' ? blockHash === blocks : number >= blocks.from && number <= blocks.to
      })
      return { logs }
    },
    contractsAt(block) {
      if (typeof block === 'string') {
        if (faults.refuseBlockHash) return refusal(-32602, 'invalid argument 1: hex string expected')
        const header = headerOf(chain, faults, block) as { hash?: unknown } | null
        if (header?.hash !== block) return refusal(-32000, 'header for hash not found')
      }
      return (target, data) => readContract(contracts, target, data)
    },
  }
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

/** A hash of a block ends with its number. */
function headerOf(chain: RecordedChain, faults: Faults, block: number | Hash) {
  const number = typeof block === 'number' ? block : Number(`0x${block.slice(-12)}`)
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

/** The logs that the node's limits and lies leave. */
function toldLogs(chain: RecordedChain, faults: Faults, query: LogQuery, outcome: Outcome): Outcome {
  if ('error' in outcome) return outcome
  const found = outcome.result as readonly RpcLog[]
  const blocks = numberOf(chain, query.toBlock) - numberOf(chain, query.fromBlock)
  if (faults.maxBlocks !== undefined && blocks >= faults.maxBlocks) {
    return refusal(-32614, `eth_getLogs is limited to a ${faults.maxBlocks} range`)
  }
  if (faults.maxLogs !== undefined && found.length > faults.maxLogs) {
    return refusal(-32005, `query returned more than ${faults.maxLogs} results`)
  }
  const told = found.filter((log) => !faults.hideLogs?.(log)).map((log) => faults.twistLog?.(log) ?? log)
  return { result: faults.hideTimestamps ? told.map(({ blockTimestamp: _, ...log }) => log) : told }
}
