/** The log of a single process: a hand-over that keeps nothing, so that appended means stored. */

import type { Message } from '../../ingest/model/message.ts'
import type { Offset, TickLog } from '../../ingest/model/tick-log.ts'
import { LogClosed, ReaderEnded } from './client/errors.ts'

export type InProcessLog<M = Message> = TickLog<M> & {
  /** Rejects waiting appends; a reader ends. */
  close(): Promise<void>
}

type PendingAppend<M> = { messages: readonly M[]; stored: () => void; failed: (error: Error) => void }

/**
 * `append` resolves when the reader asks for the batch after the one with its messages. Without a reader it waits for one; it rejects with
 * `ReaderEnded` where the reader stopped before it asked for the next batch. Appends that wait together are read together.
 * `nextOffset` must be above every offset that the store has seen; offsets of rejected messages are not used again.
 */
export function inProcessLog<M = Message>({ nextOffset }: { nextOffset: Offset }): InProcessLog<M> {
  const closed = new AbortController()
  let next = nextOffset
  let waiting: PendingAppend<M>[] = []
  let wake = () => {}
  let reading = false

  function failAll(failed: readonly PendingAppend<M>[], error: Error): void {
    for (const append of failed) append.failed(error)
  }

  return {
    append(messages) {
      return new Promise((stored, failed) => {
        if (closed.signal.aborted) return failed(new LogClosed('The in-process log'))
        if (messages.length === 0) return stored()
        waiting.push({ messages, stored, failed })
        wake()
      })
    },
    async last() {
      return undefined
    },
    async at() {
      return undefined
    },
    async *read(from, signal) {
      if (reading) throw new Error('The in-process log has a reader already: one aggregator a network.')
      reading = true
      const ended = AbortSignal.any([signal, closed.signal])
      const onEnd = () => wake()
      ended.addEventListener('abort', onEnd)
      next = Math.max(next, from)
      let taken: PendingAppend<M>[] = []
      try {
        // As on Kafka: the log is this reader's now.
        if (!ended.aborted) yield []
        while (!ended.aborted) {
          if (waiting.length === 0) {
            await new Promise<void>((resolve) => {
              wake = resolve
            })
            continue
          }
          taken = waiting
          waiting = []
          yield taken.flatMap(({ messages }) => messages.map((message) => ({ offset: next++, message })))
          for (const append of taken) append.stored()
          taken = []
        }
      } finally {
        reading = false
        ended.removeEventListener('abort', onEnd)
        // Batches behind one that was not stored build on it.
        if (taken.length > 0) {
          failAll([...taken, ...waiting], new ReaderEnded())
          waiting = []
        }
      }
    },
    async close() {
      closed.abort()
      failAll(waiting, new LogClosed('The in-process log'))
      waiting = []
    },
  }
}
