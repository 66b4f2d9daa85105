/** A bigint in JSON: a number where a double holds it, else hexadecimal text, which reads and writes in linear time. */
export type JsonBigint = number | string

const LARGEST_NUMBER = BigInt(Number.MAX_SAFE_INTEGER)
/** 256 bits. */
const MAX_DIGITS = 64

export function toJsonBigint(value: bigint): JsonBigint {
  if (value <= LARGEST_NUMBER && value >= -LARGEST_NUMBER) return Number(value)
  return value < 0n ? `-0x${(-value).toString(16)}` : `0x${value.toString(16)}`
}

/** BigInt() accepts no sign before 0x; and other texts, which `toJsonBigint` never writes. Throws a `RangeError`. */
export function fromJsonBigint(value: JsonBigint): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  if (typeof value === 'string' && value.length <= MAX_DIGITS + 3) {
    if (value.startsWith('0x')) return BigInt(value)
    if (value.startsWith('-0x')) return -BigInt(value.slice(1))
  }
  throw new RangeError(`An amount is ${JSON.stringify(value)?.slice(0, 40)}, which is no whole number of 256 bits.`)
}
