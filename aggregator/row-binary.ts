/** ClickHouse's RowBinary: columns one after the other, little-endian, no separators. */
import type { Hex } from 'viem'

const FIRST_BYTES = 64 * 1024

/** Grows as it is written; values are checked by ClickHouse's column types, not here. */
export class RowBinary {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES)
  #length = 0

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  uint8(value: number): this {
    const at = this.#reserve(1)
    this.#bytes.writeUInt8(value, at)
    return this
  }

  uint32(value: number): this {
    const at = this.#reserve(4)
    this.#bytes.writeUInt32LE(value, at)
    return this
  }

  int32(value: number): this {
    const at = this.#reserve(4)
    this.#bytes.writeInt32LE(value, at)
    return this
  }

  uint64(value: number | bigint): this {
    const at = this.#reserve(8)
    this.#bytes.writeBigUInt64LE(BigInt(value), at)
    return this
  }

  /** Signed or unsigned, as two's complement. */
  integer(value: bigint, bits: 128 | 256): this {
    const at = this.#reserve(bits / 8)
    for (let word = 0; word < bits / 64; word++) {
      this.#bytes.writeBigUInt64LE(BigInt.asUintN(64, value >> BigInt(word * 64)), at + word * 8)
    }
    return this
  }

  float64(value: number): this {
    const at = this.#reserve(8)
    this.#bytes.writeDoubleLE(value, at)
    return this
  }

  string(value: string): this {
    const size = Buffer.byteLength(value)
    this.#varint(size)
    const at = this.#reserve(size)
    this.#bytes.write(value, at)
    return this
  }

  /** A FixedString of 32 bytes. */
  hash(value: Hex): this {
    const at = this.#reserve(32)
    // `write` stops at the buffer's end and at a half byte, so its answer alone does not tell.
    const written = value.length === 66 ? this.#bytes.write(value.slice(2), at, 'hex') : 0
    if (written !== 32) throw new Error(`${value} is not a hash of 32 bytes.`)
    return this
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
    const at = this.#length
    this.#length += size
    if (this.#length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#length, this.#bytes.length * 2))
      this.#bytes.copy(larger, 0, 0, at)
      this.#bytes = larger
    }
    return at
  }
}
