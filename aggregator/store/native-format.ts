/**
 * ClickHouse's format Native: whole columns, so that the server copies them instead of parsing values row by row. Little-endian, as this machine's typed
 * arrays are.
 */
import { NEW_MEMORY } from '../../ingest/columns/column-memory.ts'

export type NativeColumn = {
  name: string
  /** Type of the data below; the server casts it to that of the table. */
  type: string
  /** In order, one after the other. */
  data: readonly Uint8Array[]
}

/** Smaller blocks are copied into one piece: a write costs more than a copy. */
const COPIED_BYTES = 64 * 1024

/** One block of `rows` rows as pieces. */
export function nativeBlock(rows: number, columns: readonly NativeColumn[]): Uint8Array[] {
  const pieces: Uint8Array[] = [Buffer.concat([varint(columns.length), varint(rows)])]
  for (const { name, type, data } of columns) pieces.push(Buffer.concat([text(name), text(type)]), ...data)
  const bytes = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
  return bytes <= COPIED_BYTES ? [Buffer.concat(pieces)] : pieces
}

/** Its bytes as they lie in memory. */
export function plainColumn(
  name: string,
  type: string,
  { buffer, byteOffset, byteLength }: NodeJS.TypedArray,
): NativeColumn {
  return { name, type, data: [new Uint8Array(buffer, byteOffset, byteLength)] }
}

/** Values of any bytes. */
export function bytesColumn(name: string, values: readonly Uint8Array[]): NativeColumn {
  return { name, type: 'String', data: [Buffer.concat(values.flatMap((value) => [varint(value.length), value]))] }
}

/** Each row names its value by its place. */
export function dictionaryColumn(name: string, values: readonly string[], places: Uint32Array): NativeColumn {
  const [indexType, indexes] = narrowed(places, values.length)
  const head = Buffer.alloc(3 * WORD_BYTES)
  head.writeBigUInt64LE(SHARED_DICTIONARIES, 0)
  head.writeBigUInt64LE(HAS_KEYS | NEEDS_UPDATE | indexType, WORD_BYTES)
  head.writeBigUInt64LE(BigInt(values.length), 2 * WORD_BYTES)
  const rows = Buffer.alloc(WORD_BYTES)
  rows.writeBigUInt64LE(BigInt(places.length), 0)
  return { name, type: 'LowCardinality(String)', data: [head, ...values.map(text), rows, bytesOf(indexes)] }
}

const WORD_BYTES = 8
const SHARED_DICTIONARIES = 1n
/** The dictionary comes with the block. */
const HAS_KEYS = 1n << 9n
const NEEDS_UPDATE = 1n << 10n

function narrowed(places: Uint32Array, values: number): [type: bigint, indexes: NodeJS.TypedArray] {
  if (values <= 2 ** 8) return [0n, Uint8Array.from(places)]
  if (values <= 2 ** 16) return [1n, Uint16Array.from(places)]
  return [2n, places]
}

function bytesOf({ buffer, byteOffset, byteLength }: NodeJS.TypedArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([varint(bytes.length), bytes])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
  return Buffer.from([...bytes, rest])
}

/** Whole numbers from 0 on that a double holds, as UInt64. */
export function integersOf(values: Float64Array | Uint32Array, memory = NEW_MEMORY): Uint32Array {
  const lanes = memory.uint32(values.length * 2)
  for (let index = 0; index < values.length; index++) {
    const value = values[index] as number
    lanes[2 * index] = value
    lanes[2 * index + 1] = value / 2 ** 32
  }
  return lanes
}

/** By how many units in the last place each value is above its estimate, as an Int64: the difference of their bits, modulo 2^64. */
export function ulpsOf(values: Float64Array, estimates: Float64Array, memory = NEW_MEMORY): Uint32Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length * 2)
  const base = new Uint32Array(estimates.buffer, estimates.byteOffset, values.length * 2)
  const found = memory.uint32(values.length * 2)
  for (let at = 0; at < found.length; at += 2) {
    const low = (bits[at] ?? 0) - (base[at] ?? 0)
    found[at] = low
    found[at + 1] = (bits[at + 1] ?? 0) - (base[at + 1] ?? 0) - (low < 0 ? 1 : 0)
  }
  return found
}
