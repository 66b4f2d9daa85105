/** Checks each answer of a node where it arrives: an answer that passes has the types and ranges that its readers assume. */
import { numberToHex } from 'viem'
import { bytesIn, hexIn, isBytes, isLowerHex, isPlainNumber, quantityIn } from '../lib/hex.ts'
import { headerIn, type RpcLog } from './rpc.ts'
import { BadAnswer } from './rpc-error.ts'
import { isScanned } from './scan-logs.ts'

type Fields = Record<string, unknown>

/**
 * Throws `BadAnswer` where no node answers so to `method`. Addresses, hashes, topics and numbers that are written in another way, in capitals or with
 * leading zeros, are rewritten in place: they are compared as texts.
 */
export function checkAnswer(method: string, answer: unknown): void {
  CHECKS[method]?.(answer)
}

const CHECKS: Readonly<Record<string, (answer: unknown) => void>> = {
  eth_chainId: (answer) => quantityIn(answer) ?? refuse('the answer to eth_chainId', answer),
  eth_call: (answer) => bytesIn(answer) ?? refuse('the answer to eth_call', answer),
  eth_getBlockByNumber: checkHeader,
  eth_getLogs: (answer) => checkLogs(answer, 'the answer to eth_getLogs'),
  eth_getBlockReceipts: checkReceipts,
  eth_getTransactionReceipt: checkReceipt,
}

/** A pending block has no hash. */
function checkHeader(answer: unknown): void {
  if (answer === null || (isObject(answer) && answer['hash'] === null)) return
  if (!headerIn(answer)) refuse('a header', answer)
}

function checkReceipts(receipts: unknown): void {
  if (receipts === null) return
  if (!Array.isArray(receipts)) refuse('the list of receipts', receipts)
  for (const receipt of receipts) checkReceipt(receipt)
}

function checkReceipt(receipt: unknown): void {
  if (receipt === null) return
  if (!isObject(receipt)) refuse('a receipt', receipt)
  const { blockHash, logs } = receipt
  receipt['blockHash'] = hexIn(blockHash, 32) ?? refuse('the blockHash of a receipt', blockHash)
  checkLogs(logs, 'the logs of a receipt')
}

function checkLogs(logs: unknown, name: string): void {
  if (!Array.isArray(logs)) refuse(name, logs)
  if (isScanned(logs)) return
  let before: LogFields = {}
  for (const log of logs) {
    if (!isObject(log)) refuse('a log', log)
    checkLog(log, before)
    before = log
  }
}

/** Each has any type. */
type LogFields = { [Field in keyof RpcLog]?: unknown }

/** A log index is stored in 32 bits. */
const MAX_LOG_INDEX = 2 ** 32 - 1
const MAX_TOPICS = 4

/** Where a `blockTimestamp` is no time, the header is read. */
function checkLog(log: LogFields, before: LogFields): void {
  const { address, data, blockHash, transactionHash, blockNumber, logIndex, topics } = log
  if (!isKnown(address, before.address, 20)) log.address = hexIn(address, 20) ?? refuse('the address of a log', address)
  if (!isKnown(blockHash, before.blockHash, 32))
    log.blockHash = hexIn(blockHash, 32) ?? refuse('the blockHash of a log', blockHash)
  if (!isKnown(transactionHash, before.transactionHash, 32))
    log.transactionHash = hexIn(transactionHash, 32) ?? refuse('the transactionHash of a log', transactionHash)
  if (!isPlainNumber(blockNumber))
    log.blockNumber = numberIn(blockNumber, Number.MAX_SAFE_INTEGER) ?? refuse('the blockNumber of a log', blockNumber)
  if (!isPlainNumber(logIndex))
    log.logIndex = numberIn(logIndex, MAX_LOG_INDEX) ?? refuse('the logIndex of a log', logIndex)
  if (!isBytes(data)) refuse('the data of a log', data)
  if (!Array.isArray(topics) || topics.length > MAX_TOPICS) refuse('the topics of a log', topics)
  const others = before.topics as readonly unknown[] | undefined
  for (let index = 0; index < topics.length; index++) {
    const topic: unknown = topics[index]
    if (!isKnown(topic, others?.[index], 32)) topics[index] = hexIn(topic, 32) ?? refuse('a topic of a log', topic)
  }
}

/** Whether the value is valid as it is. Half of the fields equal those of the log before, which was checked: comparing is faster. */
function isKnown(value: unknown, before: unknown, bytes: number): boolean {
  if (value !== undefined && value === before) return true
  return typeof value === 'string' && value.length === 2 + 2 * bytes && isLowerHex(value)
}

/** As nodes write it: without leading zeros. */
function numberIn(value: unknown, max: number): string | undefined {
  const number = quantityIn(value)
  if (number === undefined || number > max) return undefined
  const isPlain = number === 0 ? value === '0x0' : (value as string)[2] !== '0'
  return isPlain ? (value as string).toLowerCase() : numberToHex(number)
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Its content is not quoted: it may be of any length, and for another's eyes. */
function refuse(name: string, value: unknown): never {
  throw new BadAnswer('malformed', `The node answered ${kindOf(value)} as ${name}.`, { isFault: true })
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'string') return `a text of ${value.length} characters`
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
