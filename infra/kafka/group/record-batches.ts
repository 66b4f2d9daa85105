/** Batches of records, in the order of their offsets, as batches of messages. */

import type { KafkaMessage } from 'kafkajs'
import { ticksIn } from '../../../ingest/model/message.ts'
import type { Offset } from '../../../ingest/model/tick-log.ts'
import type { RetryContext } from '../client/retry.ts'
import type { LogFormat } from '../wire/log-format.ts'
import { assembler, type ReadEntry, type Rejected } from '../wire/parts.ts'

/** A topic that this process reads. */
export type ReadContext = RetryContext & {
  format: LogFormat
  /** Makes the topic where it is missing: brokers may have lost it. */
  ensure(): Promise<void>
}

export type Batch = {
  entries: readonly ReadEntry[]
  rejected: readonly Rejected[]
  /** Messages and ticks, and as many again as their bytes could be: records that are no messages, or are set aside, take memory too. */
  size: number
}

/** Several times the bytes of a tick, so that ticks count mostly by their number. */
const BYTES_PER_TICK = 2_000

export type ReadRecords =
  | { kind: 'read'; batch: Batch }
  /** Nothing was read: `position` is lower now. */
  | { kind: 'step-back' }
  /** The records are older than `position`: the topic is another one. */
  | { kind: 'gone'; first: Offset }

export class RecordBatches {
  readonly #context: ReadContext
  readonly #from: Offset
  readonly #assemble: ReturnType<typeof assembler>
  #position: Offset
  #begun = false
  #steppedBack = false
  #rejected: Rejected[] = []

  /** Messages before `from` are left out. */
  constructor(context: ReadContext, from: Offset) {
    const { topic, report, format } = context
    this.#context = context
    this.#from = from
    this.#position = from
    this.#assemble = assembler({
      ...format,
      onDropped: (dropped) => report({ kind: 'log-parts-dropped', topic, ...dropped }),
      onRejected: (message) => this.#rejected.push(message),
    })
  }

  /** Offset of the next record to fetch. */
  get position(): Offset {
    return this.#position
  }

  read(messages: readonly KafkaMessage[], lastOffset: Offset): ReadRecords | undefined {
    const { topic, report, format } = this.#context
    const records = messages.map(format.toStoredRecord)
    const [first] = records
    if (!first) return undefined
    if (first.offset < this.#position) return { kind: 'gone', first: first.offset }
    if (!this.#steppedBack && !this.#begun && first.offset === this.#position && first.part && first.part.index > 0) {
      // `from` is the offset of a message's last part: back to its first.
      this.#steppedBack = true
      this.#position = Math.max(0, this.#position - first.part.index)
      return { kind: 'step-back' }
    }
    const expected = Math.max(this.#position, this.#from)
    const begins = first.unreadable?.since ?? first.offset
    if (begins > expected) report({ kind: 'log-begins-later', topic, position: expected, begins })
    this.#begun = true
    this.#rejected = []
    const isWanted = ({ offset }: { offset: Offset }) => offset >= this.#from
    const entries = records.flatMap((record) => this.#assemble(record) ?? []).filter(isWanted)
    const rejected = this.#rejected.filter(isWanted)
    const bytes = records.reduce((sum, { value }) => sum + value.length, 0)
    const counted = entries.reduce((sum, { message }) => sum + 1 + ticksIn(message), rejected.length)
    const size = counted + Math.floor(bytes / BYTES_PER_TICK)
    this.#position = lastOffset + 1
    return { kind: 'read', batch: { entries, rejected, size } }
  }
}
