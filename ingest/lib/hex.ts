/** Hex of nodes, read with its type, length and digits checked: an answer may have anything in the place of each field. */
import type { Hex } from 'viem'

/** In lower case, since hashes and topics are compared as texts; undefined where `value` is not hex of so many bytes. */
export function hexIn(value: unknown, bytes: number): Hex | undefined {
  return typeof value === 'string' && value.length === 2 + 2 * bytes ? lowerHex(value) : undefined
}

/** Hex of whole bytes, of any number; undefined where it is none. */
export function bytesIn(value: unknown): Hex | undefined {
  return typeof value === 'string' && value.length % 2 === 0 ? lowerHex(value) : undefined
}

/** A safe integer. `null` and an empty text are invalid, although `Number` accepts them. */
export function quantityIn(value: unknown): number | undefined {
  if (typeof value !== 'string' || value.length > MAX_QUANTITY_LENGTH || !QUANTITY.test(value)) return undefined
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : undefined
}

/** A word with leading zeros, as some gateways write numbers. */
const MAX_QUANTITY_LENGTH = 66
const QUANTITY = /^0x[0-9a-f]+$/i
const LOWER = /^0x[0-9a-f]*$/
const ANY = /^0x[0-9a-f]*$/i

function lowerHex(text: string): Hex | undefined {
  if (isLowerHex(text)) return text as Hex
  return ANY.test(text) ? (text.toLowerCase() as Hex) : undefined
}

export function isLowerHex(text: string): boolean {
  return LOWER.test(text)
}

/** Scratch space without state between calls. */
const scratch = Buffer.alloc(4_096)

/** As `bytesIn`. Decoding into a buffer takes half as long as a regular expression, and stops at the first character that is not hex. */
export function isBytes(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > 2 * scratch.length) return bytesIn(value) !== undefined
  const bytes = value.length / 2 - 1
  return value.startsWith('0x') && scratch.write(value.slice(2), 0, 'hex') === bytes
}

/** As nodes write a number of at most 31 bits: most are. */
export function isPlainNumber(value: unknown): boolean {
  return typeof value === 'string' && value.length < 10 && PLAIN.test(value)
}

const PLAIN = /^0x(0|[1-9a-f][0-9a-f]*)$/
