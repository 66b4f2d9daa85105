/** The log: the road from ingest to aggregator. Kafka in a cluster, a hand-over in one process. */
import type { Message } from './message.ts'

/** Counts a network's messages; grows, but need not grow by one. */
export type Offset = number

export type Entry = { offset: Offset; message: Message }

/** The log of one network, in the order of the chain. */
export type TickLog = {
  /** Resolves once the messages are durable: in Kafka on all in-sync replicas, in one process in the tables. */
  append(messages: readonly Message[]): Promise<void>
  /** The newest complete entry, if the log keeps any. */
  last(): Promise<Entry | undefined>
  /** The entry at exactly this offset, if the log still has it. */
  at(offset: Offset): Promise<Entry | undefined>
  /**
   * Everything from `from` on (from the oldest kept entry where that is later), then what is appended, until `signal` aborts.
   * Asking for the next batch says that the one before is stored.
   */
  read(from: Offset, signal: AbortSignal): AsyncIterable<readonly Entry[]>
}
