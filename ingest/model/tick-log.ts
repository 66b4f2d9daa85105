/** The log: the road from ingest to aggregator. Kafka in a cluster, a hand-over in one process. */
import type { Message } from './message.ts'

/** Counts a network's messages; grows, but not always by one: a large message takes several places and has the last of them. */
export type Offset = number

export type Entry<M = Message> = { offset: Offset; message: M }

/** The log of one network: its stream in the order of the chain, or restatements in the order in which they were read. */
export type TickLog<M = Message> = {
  /** Resolves once the messages are durable: in Kafka on all in-sync replicas, in one process in the tables. */
  append(messages: readonly M[]): Promise<void>
  /** The newest complete entry, if the log keeps any. */
  last(): Promise<Entry<M> | undefined>
  /** The entry at exactly this offset, if the log still has it. */
  at(offset: Offset): Promise<Entry<M> | undefined>
  /** The offset that the next record will have. Absent where nothing is kept. */
  end?(): Promise<Offset>
  /**
   * Everything from `from` on (from the oldest kept entry where that is later), then what is appended, until `signal` aborts.
   * The first batch is empty and says that the log is the caller's to read: until then another process may be reading.
   * Asking for the next batch says that the one before is stored. Throws errors that are `retryable` where the caller has to
   * find its position in its own store again: the log was taken away, was waited for too long, or is not the one it was.
   */
  read(from: Offset, signal: AbortSignal): AsyncIterable<readonly Entry<M>[]>
  /**
   * For whoever has been told that the log is his: resolves where it still is, and throws a `retryable` error where it was taken away.
   * Absent where nobody can take it away.
   */
  confirm?(): Promise<void>
  /** Sets a message aside that its reader can't use, with the reason. Absent where nothing is kept. */
  reject?(offset: Offset, reason: string): Promise<void>
}
