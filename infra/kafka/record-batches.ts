/** Batches of records, in the order of their offsets, as batches of messages. */
import type { KafkaMessage } from 'kafkajs'
import { ticksIn } from '../../ingest/model/message.ts'
import type { Entry, Offset } from '../../ingest/model/tick-log.ts'
import { assembler, type Rejected } from './parts.ts'
import type { RetryContext } from './retry.ts'
import { toStoredRecord } from './stored-record.ts'
import type { AnyMessage } from './wire-format.ts'

export type Batch = {
  entries: readonly Entry<AnyMessage>[]
  rejected: readonly Rejected[]
  /** Messages and ticks. */
  size: number
}

export type ReadRecords =
  | { kind: 'read'; batch: Batch }
  /** Nothing was read: `position` is lower now. */
  | { kind: 'step-back' }
  /** The records are older than `position`: the topic is another one. */
  | { kind: 'gone'; first: Offset }

export class RecordBatches {
  readonly #context: RetryContext
  readonly #from: Offset
  readonly #assemble: ReturnType<typeof assembler>
  #position: Offset
  #begun = false
  #steppedBack = false
  #rejected: Rejected[] = []

  /** Messages before `from` are left out. */
  constructor(context: RetryContext, from: Offset) {
    const { topic, report } = context
    this.#context = context
    this.#from = from
    this.#position = from
    this.#assemble = assembler({
      onDropped: (dropped) => report({ kind: 'log-parts-dropped', topic, ...dropped }),
      onRejected: (message) => this.#rejected.push(message),
    })
  }

  /** Offset of the next record to fetch. */
  get position(): Offset {
    return this.#position
  }

  read(messages: readonly KafkaMessage[], lastOffset: Offset): ReadRecords | undefined {
    const { topic, report } = this.#context
    const records = messages.map(toStoredRecord)
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
    if (first.offset > expected) {
      report({ kind: 'log-begins-later', topic, position: expected, begins: first.offset })
    }
    this.#begun = true
    this.#rejected = []
    const isWanted = ({ offset }: { offset: Offset }) => offset >= this.#from
    const entries = records.flatMap((record) => this.#assemble(record) ?? []).filter(isWanted)
    const rejected = this.#rejected.filter(isWanted)
    const size = entries.reduce((sum, { message }) => sum + 1 + ticksIn(message), rejected.length)
    this.#position = lastOffset + 1
    return { kind: 'read', batch: { entries, rejected, size } }
  }
}
