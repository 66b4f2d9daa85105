/** The text of a log around its values: a node writes all logs of an answer with the same keys, in one order and with the same spaces. */
import type { RpcLog } from './rpc.ts'

export const LOG_FIELDS = [
  'address',
  'topics',
  'data',
  'blockNumber',
  'blockHash',
  'blockTimestamp',
  'transactionHash',
  'transactionIndex',
  'logIndex',
  'removed',
] as const

/** A log with the fields that nodes send. */
export type SentLog = RpcLog & { transactionIndex?: `0x${string}` }
export type LogField = (typeof LOG_FIELDS)[number]

/** The rest may be left out. */
const REQUIRED: readonly LogField[] = [
  'address',
  'topics',
  'data',
  'blockNumber',
  'blockHash',
  'transactionHash',
  'logIndex',
]

export type LogTemplate = {
  /** In the order of the text, each with the text before its value, that of the first log: hex begins after `0x`, a list after `[`. */
  fields: readonly { field: LogField; lead: ExpectedText }[]
  /** Between two topics. */
  topicGap: ExpectedText
  /** From the last value of a log to the first value of the next one. */
  next: ExpectedText
  /** After the last value, up to the end of the log. */
  tail: ExpectedText
}

/** A text in ASCII, compared four bytes at a time. */
export class ExpectedText {
  readonly length: number
  readonly #words: Int32Array
  readonly #bytes: Uint8Array

  constructor(text: string) {
    const bytes = Buffer.from(text, 'latin1')
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.length = bytes.length
    this.#bytes = bytes
    this.#words = Int32Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) =>
      view.getInt32(index * 4, true),
    )
  }

  isAt(view: DataView, at: number): boolean {
    if (at + this.length > view.byteLength) return false
    const words = this.#words
    for (let index = 0; index < words.length; index++)
      if (view.getInt32(at + index * 4, true) !== words[index]) return false
    for (let index = words.length * 4; index < this.length; index++)
      if (view.getUint8(at + index) !== this.#bytes[index]) return false
    return true
  }
}

const SPACE = '[ \\t\\r\\n]*'
const HEX = '"0x([0-9a-f]*)"'
const LIST = `\\[(${SPACE}(?:"0x[0-9a-f]*"${SPACE}(?:,${SPACE})?)*)\\]`
/** A key and its value; the value's own text is what the next lead begins after. */
const FIELD = new RegExp(`([{,]${SPACE}"(\\w+)"${SPACE}:${SPACE})(?:${HEX}|${LIST}|true|false)${SPACE}`, 'y')
const END = new RegExp(`\\}(${SPACE},${SPACE})?`, 'y')
const GAP = new RegExp(`"${SPACE},${SPACE}"0x`)
/** The first log is read by a pattern, in so many characters: events of pools have fewer. */
const MAX_LENGTH = 4_096

/** That of the log at `at`; undefined where it has other keys than a log, or other values. */
export function templateOf(bytes: Buffer, at: number): LogTemplate | undefined {
  const text = bytes.toString('latin1', at, Math.min(bytes.length, at + MAX_LENGTH))
  const fields: { field: LogField; lead: string }[] = []
  let topicGap = '","0x'
  /** Text since the last value. */
  let from = 0
  FIELD.lastIndex = 0
  for (;;) {
    const start = FIELD.lastIndex
    const found = FIELD.exec(text)
    if (!found) {
      END.lastIndex = start
      break
    }
    const [, key = '', name, hex, list] = found
    const field = LOG_FIELDS.find((it) => it === name)
    if (!field || fields.some((it) => it.field === field) || !isFitting(field, hex, list)) return undefined
    if (key.startsWith('{') !== (start === 0)) return undefined
    const value = start + key.length
    fields.push({ field, lead: text.slice(from, value) + (hex !== undefined ? '"0x' : list !== undefined ? '[' : '') })
    if (hex !== undefined) from = value + '"0x'.length + hex.length
    else if (list !== undefined) from = value + '['.length + list.length
    else from = value + (text.startsWith('true', value) ? 'true' : 'false').length
    topicGap = GAP.exec(list ?? '')?.[0] ?? topicGap
  }
  const [end, comma = ','] = END.exec(text) ?? []
  const [first] = fields
  if (end === undefined || !first || !REQUIRED.every((name) => fields.some(({ field }) => field === name)))
    return undefined
  const tail = text.slice(from, END.lastIndex - end.length + 1)
  return {
    fields: fields.map(({ field, lead }) => ({ field, lead: new ExpectedText(lead) })),
    topicGap: new ExpectedText(topicGap),
    next: new ExpectedText(tail + comma + first.lead),
    tail: new ExpectedText(tail),
  }
}

function isFitting(field: LogField, hex: string | undefined, list: string | undefined): boolean {
  if (field === 'removed') return hex === undefined && list === undefined
  return field === 'topics' ? list !== undefined : hex !== undefined
}
