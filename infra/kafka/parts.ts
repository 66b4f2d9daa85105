/** Messages as records of at most 900 kB, and records as messages again. */
import type { Entry, Offset } from '../../ingest/model/tick-log.ts'
import { decode } from './decode.ts'
import { encode } from './encode.ts'
import type { AnyMessage } from './wire-format.ts'

/** Kafka's limit of 1 MiB is on the compressed batch; bytes that don't shrink must fit too. */
export const MAX_PART_BYTES = 900_000

/** Which part of a large message a record holds; a message that fits one record has none. */
export type MessagePart = { messageId: string; index: number; count: number }
export type LogRecord = { value: Buffer; part: MessagePart | undefined }
export type StoredRecord = LogRecord & { offset: Offset }

/** A message that can't be read, in its records. */
export type Rejected = { offset: Offset; reason: string; records: readonly LogRecord[] }

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

/**
 * Takes records in the order of the log and gives an entry for each that completes a message, under that record's offset.
 * One writer sends the parts of a message one after another, so any other record between them means that it stopped half-way.
 * A part may be there twice after a retry: the second is passed over. Parts whose beginning was not read are passed over too.
 */
export function assembler({
  onDropped = () => {},
  onRejected = () => {},
}: {
  onDropped?: (dropped: DroppedParts) => void
  onRejected?: (rejected: Rejected) => void
}): (record: StoredRecord) => Entry<AnyMessage> | undefined {
  let pending: { messageId: string; count: number; records: LogRecord[]; lastOffset: Offset } | undefined

  function read(offset: Offset, records: readonly LogRecord[]): Entry<AnyMessage> | undefined {
    try {
      return { offset, message: decode(Buffer.concat(records.map(({ value }) => value))) }
    } catch (error) {
      // Whatever it is, nothing but these bytes can be at fault.
      onRejected({ offset, reason: error instanceof Error ? error.message : String(error), records })
      return undefined
    }
  }

  return function assemble({ offset, ...record }) {
    const { part } = record
    if (pending && part?.messageId !== pending.messageId) {
      onDropped({
        messageId: pending.messageId,
        lastOffset: pending.lastOffset,
        parts: pending.records.length,
        count: pending.count,
      })
      pending = undefined
    }
    if (!part) return read(offset, [record])
    if (!(part.index >= 0 && part.index < part.count)) {
      onRejected({ offset, reason: `It says that it is part ${part.index} of ${part.count}.`, records: [record] })
      return undefined
    }
    if (!pending && part.index === 0) {
      pending = { messageId: part.messageId, count: part.count, records: [], lastOffset: offset }
    }
    if (!pending || part.index !== pending.records.length) return undefined
    pending.records.push(record)
    pending.lastOffset = offset
    if (pending.records.length < pending.count) return undefined
    const { records } = pending
    pending = undefined
    return read(offset, records)
  }
}
