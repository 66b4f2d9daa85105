/** A log in memory that keeps its messages, as Kafka does: for tests that look at what was appended. */

import type { Message } from '../../ingest/model/message.ts'
import type { Entry, TickLog } from '../../ingest/model/tick-log.ts'

export type ArrayLog = TickLog & { messages: Message[] }

export function arrayLog(messages: Message[] = []): ArrayLog {
  let wake = () => {}
  const entry = (offset: number): Entry | undefined => {
    const message = messages[offset]
    return message && { offset, message }
  }
  return {
    messages,
    async append(more) {
      messages.push(...more)
      wake()
    },
    last: async () => entry(messages.length - 1),
    at: async (offset) => entry(offset),
    async *read(from, signal) {
      yield []
      for (let next = from; !signal.aborted; ) {
        const batch = messages.slice(next).map((message, index) => ({ offset: next + index, message }))
        next += batch.length
        if (batch.length > 0) yield batch
        else {
          await new Promise<void>((resolve) => {
            wake = resolve
            signal.addEventListener('abort', () => resolve(), { once: true })
          })
        }
      }
    },
  }
}
