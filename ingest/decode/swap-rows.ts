/**
 * Swap logs as rows of columns: the digits of a log become lanes without an object or a bigint. The values are those of `decodeV3`, `decodeV4` and
 * the venues; a log that is written in another way is left to them.
 */
import type { Hex } from 'viem'
import {
  emptyColumns,
  HASH_BYTES,
  LIQUIDITY_LANES,
  negateWord,
  SENDER_BYTES,
  WORD_LANES,
} from '../columns/tick-columns.ts'
import { isHexText, numberIn, quantity, wrongDigits } from '../lib/hex-bytes.ts'
import type { PoolId } from '../model/pool.ts'
import type { TickColumns } from '../model/tick.ts'
import type { LogBytes, RpcLog } from '../rpc/rpc.ts'
import type { PluginFee } from './event.ts'

/** A Swap as venues write it. `isV4`: the pool is a topic, amounts are the taker's view, and the sixth word is the fee. */
export type SwapLayout = { topic: Hex; words: 5 | 6 | 7; isV4?: boolean; hasPluginFees?: boolean }

const MAX_WORDS = 7
const WORD_DIGITS = 64
const LANE_DIGITS = 8
const PREFIX = '0x'.length
/** Digits of an address at the end of a word. */
const SENDER_AT = PREFIX + WORD_DIGITS - 2 * SENDER_BYTES

/** Scratch space without state between calls: text, and lanes of words that are not stored whole. */
const text = Buffer.alloc(PREFIX + MAX_WORDS * WORD_DIGITS)
const view = new DataView(text.buffer, text.byteOffset, text.length)
const lanes = new Uint32Array(WORD_LANES)
const FEE_BITS = 0xffffff
const WORD_BYTES = 32

export class SwapRows {
  /** Prices, times and the fees of v3 are 0; `pool` is a place in `pools` here. Rows from `length` on are not valid. */
  readonly columns: TickColumns
  /** Each pool once, in lower case. */
  readonly pools: PoolId[] = []
  /** By row. */
  readonly plugins = new Map<number, PluginFee>()
  length = 0
  readonly #hashes: DataView
  /** Places of pools by their texts in logs. */
  readonly #places = new Map<string, number>()
  /** A row of each sender, by its topic. */
  readonly #senders = new Map<string, number>()
  #hash = ''
  #hashRow = 0
  /** The sender of the row at `length`, where no row before it has the same. */
  #newSender: string | undefined

  /** `capacity`: rows at most. */
  constructor(capacity: number) {
    this.columns = emptyColumns(capacity, this.pools)
    const { buffer, byteOffset, byteLength } = this.columns.transactionHash
    this.#hashes = new DataView(buffer, byteOffset, byteLength)
  }

  /** Keeps the row that was written last; the next one is written after it. */
  keep(): void {
    if (this.#newSender !== undefined) this.#senders.set(this.#newSender, this.length)
    this.length++
  }

  /** Writes the row at `length`; false where the log is no such swap, or has capitals. */
  write(log: RpcLog, { words, isV4 = false, hasPluginFees = false }: SwapLayout): boolean {
    const { topics, bytes } = log
    const sender = topics[isV4 ? 2 : 1]
    const pool = isV4 ? topics[1] : log.address
    if (topics.length !== 3 || sender === undefined || pool === undefined) return false
    const readWord = bytes ? binaryWords(bytes, words) : textWords(log.data, words)
    if (!readWord) return false
    const row = this.length
    const { amount0, amount1, sqrtPrice, liquidity, poolTick, fee } = this.columns
    const at = row * WORD_LANES
    let wrong =
      readWord(0, amount0, at, WORD_LANES) |
      readWord(1, amount1, at, WORD_LANES) |
      readWord(2, sqrtPrice, at, WORD_LANES) |
      readWord(3, liquidity, row * LIQUIDITY_LANES, LIQUIDITY_LANES) |
      readWord(4, lanes, 0, 1)
    poolTick[row] = lanes[0] as number
    for (let word = 5; word < words; word++) wrong |= readWord(word, lanes, word, 1)
    if (wrong !== 0) return false
    if (isV4) fee[row] = (lanes[5] as number) & FEE_BITS
    else {
      negateWord(amount0, at, WORD_LANES)
      negateWord(amount1, at, WORD_LANES)
    }
    if (hasPluginFees)
      this.plugins.set(row, { override: (lanes[5] as number) & FEE_BITS, added: (lanes[6] as number) & FEE_BITS })
    else if (this.plugins.size > 0) this.plugins.delete(row)
    this.columns.logIndex[row] = quantity(log.logIndex)
    this.columns.pool[row] = this.#placeOf(pool)
    if (bytes) this.#copyHash(row, bytes)
    else this.#writeHash(row, log.transactionHash)
    return this.#writeSender(row, sender)
  }

  #placeOf(pool: string): number {
    const known = this.#places.get(pool)
    if (known !== undefined) return known
    const id = pool.toLowerCase() as PoolId
    const place = this.#places.get(id) ?? this.pools.push(id) - 1
    this.#places.set(id, place).set(pool, place)
    return place
  }

  #writeHash(row: number, hash: string): void {
    const at = row * HASH_BYTES
    if (hash === this.#hash) {
      for (let byte = 0; byte < HASH_BYTES; byte += 4)
        this.#hashes.setInt32(at + byte, this.#hashes.getInt32(this.#hashRow * HASH_BYTES + byte))
    } else {
      text.write(hash, 'latin1')
      for (let byte = 0; byte < HASH_BYTES; byte += 4) this.#hashes.setInt32(at + byte, laneAt(PREFIX + 2 * byte))
      this.#hash = hash
    }
    this.#hashRow = row
  }

  #copyHash(row: number, { view, transactionHash }: LogBytes): void {
    const at = row * HASH_BYTES
    for (let byte = 0; byte < HASH_BYTES; byte += 4)
      this.#hashes.setInt32(at + byte, view.getInt32(transactionHash + byte))
  }

  #writeSender(row: number, topic: string): boolean {
    const { sender } = this.columns
    const at = row * SENDER_BYTES
    const known = this.#senders.get(topic)
    this.#newSender = known === undefined ? topic : undefined
    if (known !== undefined) {
      const from = known * SENDER_BYTES
      for (let byte = 0; byte < SENDER_BYTES; byte++) sender[at + byte] = sender[from + byte] as number
      return true
    }
    if (topic.length !== PREFIX + WORD_DIGITS) return false
    text.write(topic, 'latin1')
    if (!isHexText(view, PREFIX, topic.length)) return false
    for (let byte = 0; byte < SENDER_BYTES; byte += 2) {
      const two = numberIn(view.getInt32(SENDER_AT + 2 * byte, true))
      sender[at + byte] = two >>> 8
      sender[at + byte + 1] = two
    }
    return true
  }
}

const PADDING = 0x30303030
const NEGATIVE_PADDING = 0x66666666
/** It changes no digit below 10. */
const TO_LOWER_CASE = 0x20202020

/** Reads the lowest `count` lanes of a word; 0 where all of it could be read. */
type WordReader = (word: number, to: Uint32Array, at: number, count: number) => number

/** The words of these bytes; undefined where there are not so many. The reader is valid until the next call. */
function binaryWords(bytes: LogBytes, words: number): WordReader | undefined {
  if (bytes.dataLength !== words * WORD_BYTES) return undefined
  binary = bytes
  return readBinaryWord
}

let binary: LogBytes = { view, transactionHash: 0, data: 0, dataLength: 0 }

function readBinaryWord(word: number, to: Uint32Array, at: number, count: number): number {
  const { view, data } = binary
  let lowest = data + (word + 1) * WORD_BYTES - 4
  for (let lane = 0; lane < count; lane++, lowest -= 4) to[at + lane] = view.getUint32(lowest)
  return 0
}

/** The words of this text; undefined where there are not so many. The reader is valid until the next call. */
function textWords(data: Hex, words: number): WordReader | undefined {
  if (data.length !== PREFIX + words * WORD_DIGITS) return undefined
  text.write(data, 'latin1')
  return readTextWord
}

/** 0 where all of the word is lower-case hex. Most lanes are padding. */
function readTextWord(word: number, to: Uint32Array, at: number, count: number): number {
  let wrong = 0
  let digits = PREFIX + word * WORD_DIGITS
  for (let lane = WORD_LANES - 1; lane >= 0; lane--, digits += LANE_DIGITS) {
    const high = view.getInt32(digits, true)
    const low = view.getInt32(digits + 4, true)
    let value = 0
    if (high === NEGATIVE_PADDING && low === NEGATIVE_PADDING) value = -1
    else if (high !== PADDING || low !== PADDING) {
      wrong |= wrongDigits(high) | wrongDigits(low)
      value = (numberIn(high) << 16) | numberIn(low)
    }
    if (lane < count) to[at + lane] = value
  }
  return wrong
}

/** Eight digits in either case. */
function laneAt(digits: number): number {
  const high = view.getInt32(digits, true) | TO_LOWER_CASE
  const low = view.getInt32(digits + 4, true) | TO_LOWER_CASE
  return (numberIn(high) << 16) | numberIn(low)
}
