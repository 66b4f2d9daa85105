/**
 * Decodes a record batch of Kafka, within bounds. The broker has checked its structure, not its content. A batch that exceeds a bound, or has an
 * unknown compression, becomes one record with the reason, so that the reader skips it.
 *
 *   firstOffset int64, length int32, leaderEpoch int32, magic int8, crc int32, attributes int16, lastOffsetDelta int32, firstTimestamp int64,
 *   maxTimestamp int64, producerId int64, producerEpoch int16, firstSequence int32, count int32, then `count` records, packed or not:
 *   length varint, attributes int8, timestampDelta varint, offsetDelta varint, key and value (length varint, −1 for null), headers (count varint)
 */
import { promisify } from 'node:util'
import { gunzip, type ZlibOptions } from 'node:zlib'

/** Writers cut their batches at 900 kB before packing (`parts.ts`). */
export const MAX_UNPACKED_BYTES = 2 * 1024 * 1024
/** The smallest message has some 500 bytes. */
const MAX_RECORDS = 10_000
/** A part of a message has four, a copy in quarantine two more. */
const MAX_HEADERS = 16
/** Batches of one fetch are in memory together; the rest is fetched again. */
const MAX_FETCHED_BYTES = 16 * 1024 * 1024

/** Records from offset `since` on that can't be read, and why. */
export type Unreadable = { reason: string; since: number }

export type ReadRecord = {
  offset: string
  key: Buffer | null
  value: Buffer | null
  headers: Record<string, Buffer>
  unreadable?: Unreadable
}

/** The decoder of kafkajs at the beginning of a batch. */
type Fetched = { buffer: Buffer; offset: number; forward(bytes: number): void }

const HEADER_BYTES = 61
/** The batch's length counts the bytes after it. */
const LENGTH_END = 12
const CODEC_MASK = 0x07
const TRANSACTION_FLAG = 0x10
const CONTROL_FLAG = 0x20
export const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const

const unpack = promisify<Buffer, ZlibOptions, Buffer>(gunzip)
/** Bytes that the batches of a fetch came to so far. */
const fetchedBytes = new WeakMap<Fetched, number>()

/** In place of the decoder of kafkajs, which takes an error of this name for the end of the fetched bytes. */
class PartialBatch extends Error {
  override readonly name = 'KafkaJSPartialMessageError'
}

export async function readBatch(fetched: Fetched): Promise<{ records: ReadRecord[] }> {
  const rest = fetched.buffer.subarray(fetched.offset)
  const length = rest.length < LENGTH_END ? 0 : LENGTH_END + rest.readInt32BE(8)
  if (length < HEADER_BYTES || rest.length < length) throw new PartialBatch('The batch is not whole.')
  const before = fetchedBytes.get(fetched) ?? 0
  if (before > MAX_FETCHED_BYTES) throw new PartialBatch('The fetch has as many bytes as it may.')
  fetched.forward(length)
  const batch = rest.subarray(0, length)
  const [first, last] = [Number(batch.readBigInt64BE(0)), Number(batch.readBigInt64BE(0)) + batch.readInt32BE(23)]
  try {
    const records = await recordsOf(batch)
    const size = records.reduce((sum, { value, key }) => sum + (value?.length ?? 0) + (key?.length ?? 0) + 100, 0)
    fetchedBytes.set(fetched, before + size)
    return { records }
  } catch (error) {
    fetchedBytes.set(fetched, before + MAX_UNPACKED_BYTES)
    const reason = error instanceof Error ? error.message : String(error)
    return { records: [{ ...emptyRecord(last), unreadable: { reason, since: first } }] }
  }
}

/** Throws the reason why the batch can't be read. */
async function recordsOf(batch: Buffer): Promise<ReadRecord[]> {
  const attributes = batch.readInt16BE(21)
  const first = Number(batch.readBigInt64BE(0))
  if ((attributes & (TRANSACTION_FLAG | CONTROL_FLAG)) !== 0)
    throw new Error('Its batch is part of a transaction, and no writer of this service uses transactions.')
  const count = batch.readInt32BE(57)
  if (count > MAX_RECORDS) throw new Error(`Its batch holds ${count} records, more than ${MAX_RECORDS}.`)
  const packed = batch.subarray(HEADER_BYTES)
  const cursor = new Cursor(await unpacked(packed, attributes & CODEC_MASK))
  const records: ReadRecord[] = []
  for (let index = 0; index < count; index++) {
    const end = cursor.varint() + cursor.at
    cursor.at++
    cursor.varint()
    const offset = first + cursor.varint()
    const [key, value] = [cursor.bytes(), cursor.bytes()]
    const headers = headersIn(cursor)
    const record = { offset: String(offset), key, value }
    if (headers) records.push({ ...record, headers })
    else {
      const reason = `It has more than ${MAX_HEADERS} headers.`
      records.push({ ...record, value: null, headers: {}, unreadable: { reason, since: offset } })
    }
    cursor.at = end
  }
  return records
}

async function unpacked(bytes: Buffer, codec: number): Promise<Buffer> {
  if (codec === 0) return bytes
  if (codec !== 1) {
    const name = CODECS[codec] ?? `codec ${codec}`
    throw new Error(
      `Its batch is packed with ${name}, which this service does not unpack: set compression.type of the topic to producer.`,
    )
  }
  try {
    return await unpack(bytes, { maxOutputLength: MAX_UNPACKED_BYTES })
  } catch (cause) {
    const isTooLarge = cause instanceof Error && 'code' in cause && cause.code === 'ERR_BUFFER_TOO_LARGE'
    if (isTooLarge)
      throw new Error(`Its batch of ${bytes.length} bytes unpacks to more than ${MAX_UNPACKED_BYTES}.`, { cause })
    throw new Error('Its batch is no valid gzip.', { cause })
  }
}

/** Undefined where they are too many. Of two with one name the later counts. */
function headersIn(cursor: Cursor): Record<string, Buffer> | undefined {
  const count = cursor.varint()
  if (count > MAX_HEADERS) return undefined
  const headers: [string, Buffer][] = []
  for (let index = 0; index < count; index++) {
    const name = cursor.bytes()?.toString() ?? ''
    headers.push([name, cursor.bytes() ?? Buffer.alloc(0)])
  }
  return Object.fromEntries(headers)
}

function emptyRecord(offset: number): ReadRecord {
  return { offset: String(offset), key: null, value: null, headers: {} }
}

/** Reads on from a place. Throws a `RangeError` past the end. */
class Cursor {
  at = 0
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Zigzag, of up to 64 bits; exact up to 53. */
  varint(): number {
    let value = 0
    let factor = 1
    for (let index = 0; index < 10; index++) {
      const byte = this.#bytes.readUInt8(this.at++)
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
      factor *= 128
    }
    throw new RangeError('A number of the batch is too long.')
  }

  /** A length, and so many bytes; null for −1. */
  bytes(): Buffer | null {
    const length = this.varint()
    if (length < 0) return null
    if (this.at + length > this.#bytes.length) throw new RangeError('The batch ends within a record.')
    this.at += length
    return this.#bytes.subarray(this.at - length, this.at)
  }
}
