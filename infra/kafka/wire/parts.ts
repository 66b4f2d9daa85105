/** Messages as records of at most 900 kB, and records as messages again. */
import type { Entry, Offset } from '../../../ingest/model/tick-log.ts'
import { decode } from './decode.ts'
import { encode } from './encode.ts'
import type { Unreadable } from './record-batch.ts'
import type { AnyMessage, MessageKinds } from './wire-format.ts'

/** Kafka's limit of 1 MiB is on the compressed batch; bytes that don't shrink must fit too. */
export const MAX_PART_BYTES = 900_000

/** Bytes of a message. The largest that ingest makes, of a range of 20,000 logs, has some 7 MB. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024
const MAX_PARTS = 1_000
/** Messages that may be incomplete at a time: a foreign record between the parts of a message must not break it off. */
const MAX_UNFINISHED = 4
/** So many records after its last part, a message is given up as incomplete. */
const MAX_RECORDS_BETWEEN = 64
const MAX_REASON_LENGTH = 300

/** Which part of a large message a record holds; a message that fits one record has none. */
export type MessagePart = { messageId: string; index: number; count: number }
export type LogRecord = { value: Buffer; part: MessagePart | undefined }
export type StoredRecord = LogRecord & { offset: Offset; unreadable?: Unreadable }

/** A message that can't be read, in its records. */
export type Rejected = { offset: Offset; reason: string; records: readonly LogRecord[] }

/** An entry, and the records that it came from. */
export type ReadEntry = Entry<AnyMessage> & { records: readonly LogRecord[] }

export type DroppedParts = { messageId: string; lastOffset: Offset; parts: number; count: number }

export function toRecords(message: AnyMessage, messageId: string, maxBytes = MAX_PART_BYTES): LogRecord[] {
  const bytes = encode(message)
  const count = Math.ceil(bytes.length / maxBytes)
  if (count === 1) return [{ value: bytes, part: undefined }]
  return Array.from({ length: count }, (_, index) => ({
    value: bytes.subarray(index * maxBytes, (index + 1) * maxBytes),
    part: { messageId, index, count },
  }))
}

/** Cuts records into batches of at most `maxBytes`, in order. */
export function* toBatches<Sized extends { value: Buffer | null }>(
  records: Iterable<Sized>,
  maxBytes = MAX_PART_BYTES,
): Generator<Sized[]> {
  let batch: Sized[] = []
  let bytes = 0
  for (const record of records) {
    const size = record.value?.length ?? 0
    if (batch.length > 0 && bytes + size > maxBytes) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(record)
    bytes += size
  }
  if (batch.length > 0) yield batch
}

type Unfinished = { messageId: string; count: number; records: LogRecord[]; bytes: number; lastOffset: Offset }

export type AssemblerOptions = {
  /** Kinds of messages that the topic may hold; all where absent. */
  kinds?: MessageKinds | undefined
  problemOf?: ((message: AnyMessage) => string | undefined) | undefined
  onDropped?: (dropped: DroppedParts) => void
  onRejected?: (rejected: Rejected) => void
}

/**
 * Takes records in the order of the log and gives an entry for each that completes a message, under that record's offset.
 * A retry may append a part twice: the second one is skipped. Parts of a message without its first part are skipped too.
 */
export function assembler({
  kinds,
  problemOf = () => undefined,
  onDropped = () => {},
  onRejected = () => {},
}: AssemblerOptions): (record: StoredRecord) => ReadEntry | undefined {
  let unfinished: Unfinished[] = []

  function reject(offset: Offset, reason: string, records: readonly LogRecord[]): undefined {
    onRejected({ offset, reason: printable(reason).slice(0, MAX_REASON_LENGTH), records })
  }

  function read(offset: Offset, records: readonly LogRecord[]): ReadEntry | undefined {
    try {
      const message = decode(Buffer.concat(records.map(({ value }) => value)), kinds)
      const problem = problemOf(message)
      return problem === undefined ? { offset, message, records } : reject(offset, problem, records)
    } catch (error) {
      // Whatever it is, nothing but these bytes can be at fault.
      return reject(offset, error instanceof Error ? error.message : String(error), records)
    }
  }

  function drop({ messageId, lastOffset, records, count }: Unfinished): void {
    onDropped({ messageId, lastOffset, parts: records.length, count })
  }

  function dropOld(offset: Offset): void {
    const isOld = (one: Unfinished) => offset - one.lastOffset > MAX_RECORDS_BETWEEN
    for (const one of unfinished.filter(isOld)) drop(one)
    unfinished = unfinished.filter((one) => !isOld(one))
  }

  function begin({ messageId, count }: MessagePart, offset: Offset): Unfinished {
    const begun = { messageId, count, records: [], bytes: 0, lastOffset: offset }
    const [oldest] = unfinished
    if (oldest && unfinished.length >= MAX_UNFINISHED) {
      drop(oldest)
      unfinished.shift()
    }
    unfinished.push(begun)
    return begun
  }

  return function assemble({ offset, unreadable, ...record }) {
    if (unfinished.length > 0) dropOld(offset)
    const { part } = record
    if (unreadable) return reject(offset, unreadable.reason, [record])
    if (!part) return read(offset, [record])
    const { messageId, index, count } = part
    if (!(index >= 0 && index < count && count <= MAX_PARTS))
      return reject(offset, `It says that it is part ${index} of ${count}.`, [record])
    const known = unfinished.find((one) => one.messageId === messageId && one.count === count)
    const message = known ?? (index === 0 ? begin(part, offset) : undefined)
    if (!message || index !== message.records.length) return undefined
    // A copy: the bytes of a record are a view of all that was unpacked with it.
    message.records.push({ ...record, value: Buffer.from(record.value) })
    message.bytes += record.value.length
    message.lastOffset = offset
    const isTooLarge = message.bytes > MAX_MESSAGE_BYTES
    if (message.records.length < count && !isTooLarge) return undefined
    unfinished = unfinished.filter((one) => one !== message)
    if (isTooLarge) return reject(offset, `Its parts come to more than ${MAX_MESSAGE_BYTES} bytes.`, [record])
    return read(offset, message.records)
  }
}

/** A text that a stranger may have written, for logs and headers. */
function printable(text: string): string {
  return text.replace(/\p{C}/gu, '?')
}
