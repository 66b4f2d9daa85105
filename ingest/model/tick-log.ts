/** The log: the road from ingest to aggregator. Kafka in a cluster, a hand-over in one process. */
import type { Message } from './message.ts'

/** Counts a network's messages; grows, but not always by one: a large message takes several places and has the last of them. */
export type Offset = number

export type Entry<M = Message> = { offset: Offset; message: M }

/** The log of one network: its stream in chain order, or overwrites by jobs in the order of reading. */
export type TickLog<M = Message> = {
  /** Resolves once the messages are durable: in Kafka on all in-sync replicas, in one process in the tables. */
  append(messages: readonly M[]): Promise<void>
  /** The newest complete entry, if the log keeps entries. */
  last(): Promise<Entry<M> | undefined>
  /** The entry at this offset, if the log still has it. */
  at(offset: Offset): Promise<Entry<M> | undefined>
  /** Offset of the next record. Absent where nothing is kept. */
  end?(): Promise<Offset>
  /**
   * All entries from `from` on (from the oldest kept one where that is later), then new ones, until `signal` aborts. The first batch is
   * empty and signals the assignment: until then another process may be reading. A request for the next batch confirms that the previous
   * one is stored. Throws `retryable` errors where the caller must find its position in its own store again: the log was reassigned, the
   * wait was too long, or the topic was replaced.
   */
  read(from: Offset, signal: AbortSignal): AsyncIterable<readonly Entry<M>[]>
  /**
   * Resolves while the log is still assigned to the caller; throws a `retryable` error where it was reassigned. Absent where it cannot be
   * reassigned.
   */
  confirm?(): Promise<void>
  /** Copies a message that cannot be processed to the quarantine, with the reason. Absent where nothing is kept. */
  reject?(offset: Offset, reason: string): Promise<void>
}
