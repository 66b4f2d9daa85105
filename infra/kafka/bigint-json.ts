/** A bigint in JSON: a number where a double holds it, else hexadecimal text, which reads and writes in linear time. */
export type JsonBigint = number | string

const LARGEST_NUMBER = BigInt(Number.MAX_SAFE_INTEGER)

export function toJsonBigint(value: bigint): JsonBigint {
  if (value <= LARGEST_NUMBER && value >= -LARGEST_NUMBER) return Number(value)
  return value < 0n ? `-0x${(-value).toString(16)}` : `0x${value.toString(16)}`
}

/** BigInt() accepts no sign before 0x. */
export function fromJsonBigint(value: JsonBigint): bigint {
  return typeof value === 'string' && value.startsWith('-') ? -BigInt(value.slice(1)) : BigInt(value)
}
