/** Ethereum JSON-RPC calls of ingest. Answers stay in hex: most of them are only passed through. */
import { type Address, type Client, type Hash, type Hex, numberToHex } from 'viem'
import { hexIn, quantityIn } from '../lib/hex.ts'
import { quantity } from '../lib/hex-bytes.ts'
import { type BlockRef, TIME_END, type UnixSeconds } from '../model/message.ts'
import { limitsOf } from './endpoint-limits.ts'
import { FALLBACK_FINALITY_BLOCKS, type Finality } from './finality.ts'
import { BadAnswer, classify, isNodeError } from './rpc-error.ts'
import { voiceOf } from './voice.ts'

/** Bytes of a log, in the memory that they were read into; `view` is that of all of it. */
export type LogBytes = { view: DataView; transactionHash: number; data: number; dataLength: number }

export type RpcLog = {
  address: Address
  topics: readonly Hex[]
  data: Hex
  blockNumber: Hex
  blockHash: Hash
  transactionHash: Hash
  logIndex: Hex
  /** Sent by newer nodes; where absent, also for old blocks, the header is read. */
  blockTimestamp?: Hex | null
  removed?: boolean
  /** Where the log was read as bytes: `transactionHash` and `data` are made of them when they are asked for. */
  bytes?: LogBytes
}

export type Header = {
  number: number
  hash: Hash
  parentHash: Hash
  timestamp: number
  /** Not every node sends it. */
  logsBloom?: Hex
}

export type LogFilter = {
  topics: readonly (readonly Hex[] | null)[]
  address?: readonly Address[]
}

export type BlockTag = number | 'latest' | 'finalized'

type Where = { from: number; to: number } | { blockHash: Hash }

/** Undefined where the node lacks the block, or does not support the tag. */
export async function getHeader(client: Client, tag: BlockTag): Promise<Header | undefined> {
  const block = await client.request({
    method: 'eth_getBlockByNumber',
    params: [typeof tag === 'number' ? numberToHex(tag) : tag, false],
  })
  if (block === null || (block?.hash === null && typeof tag !== 'number')) return undefined
  const header = headerIn(block)
  if (!header) throw new BadAnswer('malformed', `The node's answer for block ${tag} is not a header.`)
  if (typeof tag === 'number' && header.number !== tag) {
    const text = `The node was asked for block ${tag} and answered block ${header.number}.`
    throw new BadAnswer('contradictory', text, { isFault: true })
  }
  return header
}

/** Undefined where `block` is not a block. */
export function headerIn(block: unknown): Header | undefined {
  const { logsBloom, ...rest } = (block ?? {}) as Record<string, unknown>
  const [hash, parentHash] = [hexIn(rest['hash'], 32), hexIn(rest['parentHash'], 32)]
  const number = quantityIn(rest['number'])
  const timestamp = timeIn(rest['timestamp'], number === 0)
  if (hash === undefined || parentHash === undefined || number === undefined || timestamp === undefined)
    return undefined
  if (logsBloom === undefined || logsBloom === null || logsBloom === '0x')
    return { number, hash, parentHash, timestamp }
  const bloom = hexIn(logsBloom, BLOOM_BYTES)
  return bloom && { number, hash, parentHash, timestamp, logsBloom: bloom }
}

const BLOOM_BYTES = 256

/** Seconds; undefined where no block can have that time. Only a genesis block may be of 1970. */
export function timeIn(value: unknown, isGenesis = false): UnixSeconds | undefined {
  const time = quantityIn(value)
  return time !== undefined && (time > 0 || isGenesis) && time < TIME_END ? time : undefined
}

export async function getHead(client: Client): Promise<Header> {
  const head = await getHeader(client, 'latest')
  if (!head) throw new BadAnswer('malformed', 'The node answered no block for `latest`.')
  return head
}

export type Heads = {
  head: Header
  /** The newest final block; −1 where there is none yet, undefined where no endpoint reports one. */
  finalized: number | undefined
  final: BlockRef | undefined
  /** No endpoint supports the tag `finalized`: the block is deep enough to be read as history, and not known to be final. */
  isGuess: boolean
  /** A block that the endpoint reports as final and that is too far below its head to be believed, or too young. */
  doubted?: BlockRef | undefined
}

/**
 * `finality` of the network is updated. A height that an endpoint has reported within `maxAgeMs` is not requested again: finality moves in steps of
 * seconds to minutes, and heads up to four times a second.
 */
export async function getHeads(client: Client, finality: Finality, maxAgeMs = 0): Promise<Heads> {
  const readFinalized = () => getHeader(client, 'finalized').catch(unknownTag)
  const isRecent = finality.isRecent(maxAgeMs, voiceOf(client))
  const [head, early] = await Promise.all([getHead(client), isRecent ? undefined : readFinalized()])
  const recent = isRecent ? finality.below(head.number) : undefined
  if (recent) return { head, finalized: recent.number, final: recent, isGuess: false }
  const reported = isRecent ? await readFinalized() : early
  const named = reported && finality.isPlausible(reported, head) ? reported : undefined
  if (named && named.number > head.number) {
    // Two nodes behind one address may be on different branches.
    throw new BadAnswer('behind', `The node's head is block ${head.number}, though block ${named.number} is final.`)
  }
  if (named) await finality.setNamed(named, voiceOf(client))
  else if (!reported) finality.refused()
  const known = finality.finalFor(named, head.number)
  if (known) return { head, finalized: known.number, final: known, isGuess: false }
  if (named || !finality.isUnknownTag)
    return { head, finalized: undefined, final: undefined, isGuess: false, doubted: reported }
  const guess = await fallbackBelow(client, head)
  return { head, finalized: guess?.number ?? -1, final: guess, isGuess: true }
}

/** As `getHeads`, and throws where finality is unknown. */
export async function getFinality(client: Client, finality: Finality): Promise<Heads & { finalized: number }> {
  const { finalized, ...heads } = await getHeads(client, finality)
  if (finalized === undefined) {
    const { head, doubted } = heads
    const said =
      doubted && `that block ${doubted.number} is final and ${head.number} its head, which is too far or too near`
    throw new BadAnswer('unsupported', `The node ${said ? `says ${said}` : 'does not say which block is final'}.`)
  }
  return { ...heads, finalized }
}

/** A node that answers with an error does not support the tag; one that fails to answer may support it. */
function unknownTag(error: unknown): undefined {
  const { kind } = classify(error)
  if (!isNodeError(error) || kind === 'rate-limited' || kind === 'timeout') throw error
}

async function fallbackBelow(client: Client, { number }: Header): Promise<Header | undefined> {
  if (number < FALLBACK_FINALITY_BLOCKS) return undefined
  const header = await getHeader(client, number - FALLBACK_FINALITY_BLOCKS)
  if (!header) throw new BadAnswer('behind', `The node has no block ${number - FALLBACK_FINALITY_BLOCKS}.`)
  return header
}

/** In chain order. Throws `BadAnswer` where the logs do not match the request. */
export async function getLogs(client: Client, filter: LogFilter, where: Where): Promise<RpcLog[]> {
  const place =
    'blockHash' in where
      ? { blockHash: where.blockHash }
      : { fromBlock: numberToHex(where.from), toBlock: numberToHex(where.to) }
  const logs: RpcLog[] = await client.request({ method: 'eth_getLogs', params: [{ ...filter, ...place }] } as never)
  let before: RpcLog | undefined
  for (const log of logs) {
    if (log.blockNumber !== before?.blockNumber || log.blockHash !== before.blockHash || log.removed === true)
      checkPlace(log, where)
    before = log
  }
  return inOrder(client, logs)
}

/** `logs` in chain order, each once. Throws `BadAnswer` where two of them have one place. */
export function inOrder(client: Client, logs: RpcLog[]): RpcLog[] {
  if (areAscending(logs)) return logs
  // Nodes do not guarantee an order, and the log index orders trades within a block.
  if (logs.some((log, index) => index > 0 && comparePlaces(logs[index - 1] as RpcLog, log) > 0))
    logs.sort(comparePlaces)
  let repeated = 0
  for (const [index, log] of logs.entries()) if (isRepeated(logs[index - 1], log)) repeated++
  if (repeated === 0) return logs
  limitsOf(client).reportOnce('duplicate-logs', `block ${Number(logs[0]?.blockNumber)}: ${repeated} logs came twice`)
  return logs.filter((log, index) => !isRepeated(logs[index - 1], log))
}

/** Whether each log comes after the one before it, of the same block or of a later one. */
function areAscending(logs: readonly RpcLog[]): boolean {
  let [number, hash, block, index] = ['', '', -1, -1]
  for (const { blockNumber, blockHash, logIndex } of logs) {
    const before = blockNumber === number ? index : -1
    index = quantity(logIndex)
    if (index <= before || (blockNumber === number && blockHash !== hash)) return false
    if (blockNumber === number) continue
    const next = quantity(blockNumber)
    if (next <= block) return false
    ;[number, hash, block] = [blockNumber, blockHash, next]
  }
  return true
}

function comparePlaces(a: RpcLog, b: RpcLog): number {
  return compareBlocks(a, b) || Number(a.logIndex) - Number(b.logIndex)
}

/** Neighbours are mostly of one block, and comparing digits is faster than parsing two numbers. */
function compareBlocks(a: RpcLog, b: RpcLog): number {
  return a.blockNumber === b.blockNumber ? 0 : Number(a.blockNumber) - Number(b.blockNumber)
}

/** Whether the second of two adjacent logs is the first one again. Throws where both have one place, or two blocks one number. */
function isRepeated(before: RpcLog | undefined, log: RpcLog): boolean {
  if (!before || compareBlocks(before, log) !== 0) return false
  if (before.blockHash !== log.blockHash) throw twoBlocks(Number(log.blockNumber), before.blockHash, log.blockHash)
  if (comparePlaces(before, log) !== 0) return false
  if (isSame(before, log)) return true
  const place = `log ${Number(log.logIndex)} of block ${Number(log.blockNumber)}`
  throw new BadAnswer('contradictory', `The node answered two different logs as ${place}.`)
}

function isSame(one: RpcLog, other: RpcLog): boolean {
  const fields = (log: RpcLog) => JSON.stringify(Object.entries(log).sort(([a], [b]) => (a < b ? -1 : 1)))
  return fields(one) === fields(other)
}

export function twoBlocks(number: number, one: string | undefined, other: string): BadAnswer {
  return new BadAnswer('contradictory', `The node answered two blocks ${number}: ${one ?? 'none'} and ${other}.`)
}

/** Types and lengths are checked by `checkAnswer`. */
function checkPlace({ blockNumber, blockHash, removed }: RpcLog, where: Where): void {
  const number = Number(blockNumber)
  if (removed === true) {
    throw new BadAnswer('contradictory', `The node answered a log of block ${number} that it says is removed.`)
  }
  if ('blockHash' in where ? blockHash !== where.blockHash : !(number >= where.from && number <= where.to)) {
    const asked = 'blockHash' in where ? where.blockHash : `${where.from} to ${where.to}`
    throw new BadAnswer('contradictory', `The node was asked for logs of ${asked} and answered one of ${number}.`)
  }
}
