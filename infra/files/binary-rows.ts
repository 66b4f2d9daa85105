/** Rows of an answer in the format RowBinary: hex texts and JSON would take both processes three times as long. */
import type { Hex } from 'viem'
import type { RepeatedBytes } from '../../ingest/lib/hex-bytes.ts'

/** Each row begins with it: the text of an error in the place of a row does not. */
export const ROW_MARK = 1

/** Thrown where the bytes end within a row. */
const CUT = new Error('The bytes end within a row.')

/** Two hex digits of each byte, as they lie in memory. */
const DIGITS = Uint16Array.from({ length: 256 }, (_, byte) => digitsOf(byte).readUInt16LE())

function digitsOf(byte: number): Buffer {
  return Buffer.from(byte.toString(16).padStart(2, '0'))
}

/** Bytes of the longest value that is written there. */
const SHORT = 4_096
const written = Buffer.alloc(2 + 2 * SHORT, '0x')
const pairs = new Uint16Array(written.buffer, written.byteOffset, 1 + SHORT)

/** One flat string: `0x` joined to the digits would be copied again by its first reader. */
export function hexOf(bytes: Buffer, from: number, length: number): Hex {
  if (length > SHORT) return `0x${bytes.toString('hex', from, from + length)}`
  for (let index = 0; index < length; index++) pairs[index + 1] = DIGITS[bytes[from + index] ?? 0] ?? 0
  return written.toString('latin1', 0, 2 + 2 * length) as Hex
}

/** A string where it lies, in the memory that rows are read from. */
type BytesAt = { bytes: Buffer; view: DataView; at: number; length: number }

/** Reads the values of a row one after another. Numbers are doubles, which have all integers up to 2^53. */
export class RowReader {
  #bytes: Buffer = Buffer.alloc(0)
  #view: DataView = new DataView(new ArrayBuffer(0))
  #at = 0

  number(): number {
    return this.#bytes.readDoubleLE(this.#next(8))
  }

  /** A string as hex digits. */
  hex(): Hex {
    const length = this.#length()
    return hexOf(this.#bytes, this.#next(length), length)
  }

  hexOrNull(): Hex | null {
    return this.#isNull() ? null : this.hex()
  }

  /** A string as hex digits, of which most have the length of `texts`. */
  repeated(texts: RepeatedBytes): Hex {
    const length = this.#length()
    const at = this.#next(length)
    return length === texts.length ? texts.read(this.#bytes, this.#view, at) : hexOf(this.#bytes, at, length)
  }

  repeatedOrNull(texts: RepeatedBytes): Hex | null {
    return this.#isNull() ? null : this.repeated(texts)
  }

  bytes(): BytesAt {
    const length = this.#length()
    return { bytes: this.#bytes, view: this.#view, at: this.#next(length), length }
  }

  text(): string {
    const length = this.#length()
    return length === 0 ? '' : this.#bytes.toString('latin1', this.#next(length), this.#at)
  }

  /** The whole rows of these bytes, and the bytes of the row that they end with. */
  rowsOf<Row>(bytes: Buffer, read: (reader: RowReader) => Row): { rows: Row[]; rest: Buffer } {
    const rows: Row[] = []
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#at = 0
    let end = 0
    try {
      while (end < bytes.length) {
        if (bytes[this.#next(1)] !== ROW_MARK)
          throw new Error(`ClickHouse broke an answer off: ${bytes.toString('latin1', end, end + 300)}`)
        rows.push(read(this))
        end = this.#at
      }
    } catch (error) {
      if (error !== CUT) throw error
    }
    return { rows, rest: bytes.subarray(end) }
  }

  #isNull(): boolean {
    return this.#bytes[this.#next(1)] === 1
  }

  /** Seven bits a byte, the lowest first. */
  #length(): number {
    let length = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#bytes[this.#next(1)] ?? 0
      length += (byte & 127) * scale
      if (byte < 128) return length
    }
  }

  /** The place of so many bytes, which are read with it. */
  #next(bytes: number): number {
    const from = this.#at
    this.#at += bytes
    if (this.#at > this.#bytes.length) throw CUT
    return from
  }
}

/** The rows of an answer, in pieces as they arrive. An answer that ends within a row is an error. */
export async function* binaryRows<Row>(
  body: AsyncIterable<Uint8Array>,
  read: (reader: RowReader) => Row,
): AsyncGenerator<Row[]> {
  const reader = new RowReader()
  let waiting: Uint8Array[] = []
  let [bytes, needed] = [0, 0]
  for await (const piece of body) {
    waiting.push(piece)
    bytes += piece.length
    if (bytes < needed) continue
    const { rows, rest } = reader.rowsOf(Buffer.concat(waiting), read)
    // A long row is looked at again once twice as much of it is there, not at each piece.
    needed = rows.length === 0 ? 2 * rest.length : 0
    waiting = [rest]
    bytes = rest.length
    if (rows.length > 0) yield rows
  }
  const { rows, rest } = reader.rowsOf(Buffer.concat(waiting), read)
  if (rows.length > 0) yield rows
  if (rest.length > 0) throw new Error(`ClickHouse broke an answer off: ${rest.toString('latin1', 0, 300)}`)
}
