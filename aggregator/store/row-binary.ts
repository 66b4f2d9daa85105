/** ClickHouse's RowBinary: columns one after the other, little-endian, no separators. */
import type { Hex } from 'viem'

/** Buffers grow from one to the next, and are never copied. */
const CHUNK_BYTES = { first: 16 * 1024, most: 1024 * 1024 }
/** Free list of 1 MiB buffers: fewer major garbage collections. */
const spare: Buffer[] = []
const MAX_SPARE = 64
const TWO_32 = 2 ** 32
/** A double holds every integer between these, and numbers are written several times as fast as bigints. */
const MAX_AS_NUMBER = BigInt(Number.MAX_SAFE_INTEGER)
const MIN_AS_NUMBER = -MAX_AS_NUMBER

/** Grows as it is written; values are checked by ClickHouse's column types, not here. */
export class RowBinary {
  #full: Buffer[] = []
  #bytes: Buffer = Buffer.allocUnsafe(CHUNK_BYTES.first)
  #view = viewOf(this.#bytes)
  #length = 0

  /** All bytes so far, in pieces. */
  get chunks(): Buffer[] {
    const last = this.#bytes.subarray(0, this.#length)
    return last.length > 0 ? [...this.#full, last] : this.#full
  }

  get bytes(): Buffer {
    return Buffer.concat(this.chunks)
  }

  /** Returns large chunks to the free list. Call it once no reader holds them. */
  recycle(): void {
    for (const { buffer } of [...this.#full, this.#bytes]) {
      if (buffer.byteLength === CHUNK_BYTES.most && spare.length < MAX_SPARE) spare.push(Buffer.from(buffer))
    }
    this.#full = []
    this.#begin(Buffer.allocUnsafe(CHUNK_BYTES.first))
  }

  uint8(value: number): this {
    const at = this.#reserve(1)
    this.#view.setUint8(at, value)
    return this
  }

  uint32(value: number): this {
    const at = this.#reserve(4)
    this.#view.setUint32(at, value, true)
    return this
  }

  int32(value: number): this {
    const at = this.#reserve(4)
    this.#view.setInt32(at, value, true)
    return this
  }

  uint64(value: number | bigint): this {
    const at = this.#reserve(8)
    if (typeof value === 'number') this.#number(at, value)
    else this.#view.setBigUint64(at, value, true)
    return this
  }

  /** Signed or unsigned, as two's complement. */
  integer(value: bigint, bits: 128 | 256): this {
    const at = this.#reserve(bits / 8)
    const end = at + bits / 8
    let rest = value
    for (let word = at; word < end; word += 8) {
      if (rest <= MAX_AS_NUMBER && rest >= MIN_AS_NUMBER) {
        this.#number(word, Number(rest))
        const sign = rest < 0n ? -1 : 0
        for (let left = word + 8; left < end; left += 4) this.#view.setInt32(left, sign, true)
        break
      }
      this.#view.setBigUint64(word, rest, true)
      rest >>= 64n
    }
    return this
  }

  float64(value: number): this {
    const at = this.#reserve(8)
    this.#view.setFloat64(at, value, true)
    return this
  }

  string(value: string): this {
    // No character takes more than three bytes, so this one's length is sure to be a single one.
    if (value.length * 3 < 0x80) {
      const at = this.#reserve(1 + value.length * 3)
      const size = this.#bytes.write(value, at + 1)
      this.#bytes[at] = size
      this.#length = at + 1 + size
      return this
    }
    const size = Buffer.byteLength(value)
    this.#varint(size)
    const at = this.#reserve(size)
    this.#bytes.write(value, at)
    return this
  }

  /** An Array(String). */
  strings(values: readonly string[]): this {
    this.#varint(values.length)
    for (const value of values) this.string(value)
    return this
  }

  /** An Array(UInt32). */
  uint32s(values: readonly number[]): this {
    this.#varint(values.length)
    for (const value of values) this.uint32(value)
    return this
  }

  /** A FixedString of 32 bytes. */
  hash(value: Hex): this {
    return this.#hex(value, 32, 'a hash')
  }

  /** A FixedString of 20 bytes. */
  address(value: Hex): this {
    return this.#hex(value, 20, 'an address')
  }

  #hex(value: Hex, bytes: number, kind: string): this {
    const at = this.#reserve(bytes)
    // `write` stops at the buffer's end and at a half byte, so its answer alone does not tell.
    const written = value.length === 2 + 2 * bytes ? this.#bytes.write(value.slice(2), at, 'hex') : 0
    if (written !== bytes) throw new Error(`${value} is not ${kind} of ${bytes} bytes.`)
    return this
  }

  /** 64 bits of an integer that a double holds. */
  #number(at: number, value: number): void {
    const high = Math.floor(value / TWO_32)
    this.#view.setUint32(at, value - high * TWO_32, true)
    this.#view.setInt32(at + 4, high, true)
  }

  #varint(value: number): void {
    let rest = value
    while (rest >= 0x80) {
      this.uint8((rest & 0x7f) | 0x80)
      rest >>>= 7
    }
    this.uint8(rest)
  }

  #reserve(size: number): number {
    if (this.#length + size > this.#bytes.length) this.#next(size)
    const at = this.#length
    this.#length += size
    return at
  }

  #next(size: number): void {
    if (this.#length > 0) this.#full.push(this.#bytes.subarray(0, this.#length))
    const bytes = Math.max(size, Math.min(CHUNK_BYTES.most, this.#bytes.length * 2))
    this.#begin((bytes === CHUNK_BYTES.most ? spare.pop() : undefined) ?? Buffer.allocUnsafe(bytes))
  }

  #begin(bytes: Buffer): void {
    this.#bytes = bytes
    this.#view = viewOf(bytes)
    this.#length = 0
  }
}

function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length)
}
