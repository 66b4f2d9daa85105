/**
 * JSON of another party, parsed only where it has no more parts than honest data of its length: `[{},{},…]` of 63 MB takes gigabytes and half a
 * minute.
 */
import { isAscii } from 'node:buffer'

/** The text has more parts, or is deeper, than data can be. */
export class TooManyParts extends Error {
  override readonly name = 'TooManyParts'
}

const MAX_DEPTH = 32
const MAX_FIELDS = 256
/** So many parts may have any length. */
const FREE_PARTS = 4_096
/** A log without data has 400 bytes, 15 values, and 2 lists and objects. */
const BYTES_PER_VALUE = 20
const BYTES_PER_NESTED = 100

const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92
const OPEN_LIST = 91
const CLOSE_LIST = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

/** Throws `TooManyParts`, and `SyntaxError` as `JSON.parse` does. */
export function parseBounded(bytes: Buffer): unknown {
  countParts(bytes)
  // An answer is ASCII as a rule, which is not worth decoding: that takes as long as all the rest.
  return JSON.parse(isAscii(bytes) ? bytes.toString('latin1') : bytes.toString())
}

/** Nearly all bytes are inside of strings, and `indexOf` skips these. */
function countParts(bytes: Buffer): void {
  const mostValues = FREE_PARTS + bytes.length / BYTES_PER_VALUE
  const mostNested = FREE_PARTS + bytes.length / BYTES_PER_NESTED
  /** Commas of each open object. */
  const commas = new Float64Array(MAX_DEPTH + 1)
  let [values, nested, depth] = [0, 0, 0]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      at = bytes.indexOf(QUOTE, at + 1)
      // Each escaped quote costs a step, as a value does.
      for (; at !== -1 && isEscaped(bytes, at); at = bytes.indexOf(QUOTE, at + 1)) values++
      if (at === -1) return
    } else if (byte === COMMA) {
      commas[depth] = (commas[depth] ?? 0) + 1
      if (++values > mostValues) throw new TooManyParts('It has too many values.')
      if ((commas[depth] ?? 0) > MAX_FIELDS) throw new TooManyParts('It has too many fields in one object.')
    } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (++depth > MAX_DEPTH) throw new TooManyParts(`It is more than ${MAX_DEPTH} levels deep.`)
      if (++nested > mostNested) throw new TooManyParts('It has too many lists and objects.')
      commas[depth] = byte === OPEN_LIST ? Number.NEGATIVE_INFINITY : 0
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth--
  }
  if (values > mostValues) throw new TooManyParts('It has too many values.')
}

/** After an odd number of backslashes. */
function isEscaped(bytes: Buffer, at: number): boolean {
  let start = at
  while (bytes[start - 1] === BACKSLASH) start--
  return (at - start) % 2 === 1
}
