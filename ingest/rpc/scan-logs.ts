/**
 * A list of logs read from the bytes of an answer, as fast as its text can be compared: each log is expected to have the keys and the spaces of
 * the log before it. The result equals that of `JSON.parse`, where `checkAnswer` would let it pass unchanged; any other list is left to them.
 */
import type { Address, Hash, Hex } from 'viem'
import { isHexText, RepeatedHex } from '../lib/hex-bytes.ts'
import { ExpectedText, type LogField, type LogTemplate, type SentLog, templateOf } from './log-template.ts'
import type { RpcLog } from './rpc.ts'

export type ScannedLogs = {
  logs: RpcLog[]
  /** After the closing bracket. */
  end: number
}

const scanned = new WeakSet<readonly unknown[]>()

/** Whether each log of the list was checked as it was read. */
export function isScanned(logs: readonly unknown[]): boolean {
  return scanned.has(logs)
}

/** An answer as bytes, and as a text whose slices are views: they keep all of it in memory. */
export type AnswerBytes = { bytes: Buffer; view: DataView; text: string }

export function answerBytes(bytes: Buffer): AnswerBytes {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), text: bytes.toString('latin1') }
}

/** The list that begins with the bracket at `at`; undefined where it is empty, or has anything but plain logs. */
export function scanLogs(answer: AnswerBytes, at: number): ScannedLogs | undefined {
  const template = templateOf(answer.bytes, at + 1)
  if (!template) return undefined
  const scan = new LogScan(answer, template, at + 1)
  const logs = scan.logs()
  if (!logs) return undefined
  scanned.add(logs)
  return { logs, end: scan.at }
}

const QUOTE = 34
const CLOSE_LIST = 93
const ZERO = 48
const ADDRESS_DIGITS = 40
const WORD_DIGITS = 64
/** A text of 12 characters at most is copied by V8, not sliced. */
const MAX_NUMBER_DIGITS = 10
/** Below 2^32. */
const MAX_INDEX_DIGITS = 7

/** Addresses, topics and hashes of blocks live longer than an answer. */
const addresses = new RepeatedHex(ADDRESS_DIGITS)
const topics = new RepeatedHex(WORD_DIGITS)

const NOT_HEX = 16
const DIGITS = Uint8Array.from({ length: 256 }, (_, code) => {
  const digit = '0123456789abcdef'.indexOf(String.fromCharCode(code))
  return digit === -1 ? NOT_HEX : digit
})
const SMALL_NUMBERS = Array.from({ length: 2_048 }, (_, number): Hex => `0x${number.toString(16)}`)

/** One number of the logs, such as `blockNumber`: neighbours often have the same. */
class NumberText {
  text: Hex = '0x'
  #value = -1
  #digits = 0
  readonly #maxDigits: number
  readonly #isPlain: boolean

  /** `isPlain`: without leading zeros. */
  constructor(maxDigits: number, isPlain: boolean) {
    this.#maxDigits = maxDigits
    this.#isPlain = isPlain
  }

  /** Reads the digits at `at`, up to a quote; returns how many there are, 0 where they are no such number. `all` is the text of `bytes`. */
  read(bytes: Buffer, at: number, all: string): number {
    let value = 0
    let digits = 0
    for (; digits <= this.#maxDigits; digits++) {
      const digit = DIGITS[bytes[at + digits] ?? 0] ?? NOT_HEX
      if (digit === NOT_HEX) break
      value = value * 16 + digit
    }
    if (digits === 0 || digits > this.#maxDigits || bytes[at + digits] !== QUOTE) return 0
    if (value === this.#value && digits === this.#digits) return digits
    const isPlain = digits === 1 || bytes[at] !== ZERO
    if (this.#isPlain && !isPlain) return 0
    this.#value = value
    this.#digits = digits
    const small = isPlain ? SMALL_NUMBERS[value] : undefined
    this.text = small ?? (all.slice(at - 2, at + digits) as Hex)
    return digits
  }
}

/** Reads one list; fields hold the values of the log that is being read, and before that those of the log before it. */
class LogScan {
  at: number
  readonly #bytes: Buffer
  readonly #view: DataView
  readonly #text: string
  readonly #template: LogTemplate
  readonly #make: Maker
  address: Address = '0x'
  topics: readonly Hex[] = []
  data: Hex = '0x'
  blockHash: Hash = '0x'
  transactionHash: Hash = '0x'
  removed = false
  readonly blockNumber = new NumberText(MAX_NUMBER_DIGITS, true)
  readonly blockTimestamp = new NumberText(MAX_NUMBER_DIGITS, false)
  readonly transactionIndex = new NumberText(MAX_NUMBER_DIGITS, false)
  readonly logIndex = new NumberText(MAX_INDEX_DIGITS, true)
  #transactionAt = 0
  #dataDigits = 0

  constructor({ bytes, view, text }: AnswerBytes, template: LogTemplate, at: number) {
    this.at = at
    this.#bytes = bytes
    this.#view = view
    this.#text = text
    this.#template = template
    this.#make = makerFor(template.fields.map(({ field }) => field))
  }

  /** Undefined where a log is not as expected. */
  logs(): SentLog[] | undefined {
    const { fields, next, tail } = this.#template
    const logs: SentLog[] = []
    if (!fields[0]?.lead.isAt(this.#view, this.at)) return undefined
    this.at += fields[0].lead.length
    for (;;) {
      let isFirst = true
      for (const { field, lead } of fields) {
        if (!isFirst && !lead.isAt(this.#view, this.at)) return undefined
        if (!isFirst) this.at += lead.length
        isFirst = false
        if (!this.#read(field)) return undefined
      }
      logs.push(this.#make(this))
      if (!next.isAt(this.#view, this.at)) break
      this.at += next.length
    }
    if (!tail.isAt(this.#view, this.at)) return undefined
    this.at += tail.length
    return this.#bytes[this.at++] === CLOSE_LIST ? logs : undefined
  }

  /** Reads the value of a field and moves behind it. */
  #read(field: LogField): boolean {
    switch (field) {
      case 'address':
        return this.#readAddress()
      case 'topics':
        return this.#readTopics()
      case 'data':
        return this.#readData()
      case 'blockHash':
        return this.#readBlockHash()
      case 'transactionHash':
        return this.#readTransactionHash()
      case 'removed':
        return this.#readRemoved()
      default:
        return this.#readNumber(this[field])
    }
  }

  #has(bytes: number): boolean {
    return this.at + bytes < this.#bytes.length
  }

  #readNumber(number: NumberText): boolean {
    const digits = number.read(this.#bytes, this.at, this.#text)
    this.at += digits
    return digits > 0
  }

  #readAddress(): boolean {
    const address = this.#has(ADDRESS_DIGITS) ? addresses.read(this.#bytes, this.#view, this.at) : undefined
    if (address === undefined) return false
    this.address = address
    this.at += ADDRESS_DIGITS
    return true
  }

  /** As a topic, and the same for all logs of a block. */
  #readBlockHash(): boolean {
    const hash = this.#readTopic()
    if (hash === undefined) return false
    this.blockHash = hash
    return true
  }

  #readTopic(): Hex | undefined {
    const topic = this.#has(WORD_DIGITS) ? topics.read(this.#bytes, this.#view, this.at) : undefined
    this.at += WORD_DIGITS
    return topic
  }

  #readTopics(): boolean {
    if (this.#bytes[this.at] === CLOSE_LIST) {
      this.topics = []
      return true
    }
    if (!OPEN_HEX.isAt(this.#view, this.at)) return false
    this.at += OPEN_HEX.length
    const first = this.#readTopic()
    const second = first && this.#readNextTopic()
    const third = second && this.#readNextTopic()
    const fourth = third && this.#readNextTopic()
    if (!first || fourth === undefined) return false
    if (this.#bytes[this.at] !== QUOTE || this.#bytes[this.at + 1] !== CLOSE_LIST) return false
    this.at += 1
    // A list that grows has room for 17.
    if (!second) this.topics = [first]
    else if (!third) this.topics = [first, second]
    else if (!fourth) this.topics = [first, second, third]
    else this.topics = [first, second, third, fourth]
    return true
  }

  /** Empty after the last topic; undefined where it is none. */
  #readNextTopic(): Hex | '' | undefined {
    const { topicGap } = this.#template
    if (!topicGap.isAt(this.#view, this.at)) return ''
    this.at += topicGap.length
    return this.#readTopic()
  }

  #readTransactionHash(): boolean {
    if (!this.#has(WORD_DIGITS)) return false
    const before = this.#transactionAt
    const isSame = before > 0 && isEqualText(this.#view, before, this.at, WORD_DIGITS)
    if (!isSame) {
      if (!isHexText(this.#view, this.at, this.at + WORD_DIGITS)) return false
      this.transactionHash = this.#slice(WORD_DIGITS)
    }
    this.#transactionAt = this.at
    this.at += WORD_DIGITS
    return true
  }

  #readData(): boolean {
    let digits = this.#dataDigits
    if (this.#bytes[this.at + digits] !== QUOTE) digits = this.#bytes.indexOf(QUOTE, this.at) - this.at
    if (digits < 0 || digits % 2 !== 0) return false
    // A byte alone is no event of a pool.
    const isHex = digits === 0 || (digits >= 4 && isHexText(this.#view, this.at, this.at + digits))
    if (!isHex) return false
    this.#dataDigits = digits
    this.data = this.#slice(digits)
    this.at += digits
    return true
  }

  #readRemoved(): boolean {
    const isRemoved = TRUE.isAt(this.#view, this.at)
    if (!isRemoved && !FALSE.isAt(this.#view, this.at)) return false
    this.removed = isRemoved
    this.at += isRemoved ? TRUE.length : FALSE.length
    return true
  }

  /** With `0x` before the digits. */
  #slice(digits: number): Hex {
    return this.#text.slice(this.at - 2, this.at + digits) as Hex
  }
}

const OPEN_HEX = new ExpectedText('"0x')
const TRUE = new ExpectedText('true')
const FALSE = new ExpectedText('false')

function isEqualText(view: DataView, one: number, other: number, length: number): boolean {
  for (let at = 0; at < length; at += 4)
    if (view.getInt32(one + at, true) !== view.getInt32(other + at, true)) return false
  return true
}

type Maker = (scan: LogScan) => SentLog

/** Literals: all logs of a list have one layout, and no table of further fields. */
const MAKERS: readonly Maker[] = [
  (scan) => ({
    address: scan.address,
    topics: scan.topics,
    data: scan.data,
    blockNumber: scan.blockNumber.text,
    blockHash: scan.blockHash,
    transactionHash: scan.transactionHash,
    logIndex: scan.logIndex.text,
  }),
  (scan) => ({
    address: scan.address,
    topics: scan.topics,
    data: scan.data,
    blockNumber: scan.blockNumber.text,
    blockHash: scan.blockHash,
    transactionHash: scan.transactionHash,
    logIndex: scan.logIndex.text,
    blockTimestamp: scan.blockTimestamp.text,
  }),
  (scan) => ({
    address: scan.address,
    topics: scan.topics,
    data: scan.data,
    blockNumber: scan.blockNumber.text,
    blockHash: scan.blockHash,
    transactionHash: scan.transactionHash,
    logIndex: scan.logIndex.text,
    transactionIndex: scan.transactionIndex.text,
  }),
  (scan) => ({
    address: scan.address,
    topics: scan.topics,
    data: scan.data,
    blockNumber: scan.blockNumber.text,
    blockHash: scan.blockHash,
    transactionHash: scan.transactionHash,
    logIndex: scan.logIndex.text,
    blockTimestamp: scan.blockTimestamp.text,
    transactionIndex: scan.transactionIndex.text,
  }),
  (scan) => ({
    address: scan.address,
    topics: scan.topics,
    data: scan.data,
    blockNumber: scan.blockNumber.text,
    blockHash: scan.blockHash,
    transactionHash: scan.transactionHash,
    logIndex: scan.logIndex.text,
    removed: scan.removed,
  }),
  (scan) => ({
    address: scan.address,
    topics: scan.topics,
    data: scan.data,
    blockNumber: scan.blockNumber.text,
    blockHash: scan.blockHash,
    transactionHash: scan.transactionHash,
    logIndex: scan.logIndex.text,
    blockTimestamp: scan.blockTimestamp.text,
    removed: scan.removed,
  }),
  (scan) => ({
    address: scan.address,
    topics: scan.topics,
    data: scan.data,
    blockNumber: scan.blockNumber.text,
    blockHash: scan.blockHash,
    transactionHash: scan.transactionHash,
    logIndex: scan.logIndex.text,
    transactionIndex: scan.transactionIndex.text,
    removed: scan.removed,
  }),
  (scan) => ({
    address: scan.address,
    topics: scan.topics,
    data: scan.data,
    blockNumber: scan.blockNumber.text,
    blockHash: scan.blockHash,
    transactionHash: scan.transactionHash,
    logIndex: scan.logIndex.text,
    blockTimestamp: scan.blockTimestamp.text,
    transactionIndex: scan.transactionIndex.text,
    removed: scan.removed,
  }),
]

/** Makes logs with exactly these fields. */
function makerFor(fields: readonly LogField[]): Maker {
  const has = (field: LogField) => (fields.includes(field) ? 1 : 0)
  return MAKERS[has('blockTimestamp') + 2 * has('transactionIndex') + 4 * has('removed')] as Maker
}
