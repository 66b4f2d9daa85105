/** The reading end: one member of the network's group reads, the others stand by; positions are the caller's, never Kafka's. */

import type { Kafka } from 'kafkajs'
import { backOff, onAbort } from '../../ingest/lib/wait.ts'
import type { Offset } from '../../ingest/model/tick-log.ts'
import { LogClosed, LogRefused } from './client/errors.ts'
import { retriesOf } from './client/retry.ts'
import type { ReaderOptions } from './group/group-reader.ts'
import { type OpenedReader, openReader } from './group/group-reader.ts'
import type { ReadContext } from './group/record-batches.ts'
import type { Quarantine } from './quarantine.ts'
import type { ReadEntry } from './wire/parts.ts'

/**
 * The first batch is empty: it says that the topic is now this process's to read. Ends when `signal` or the log's closing aborts, once
 * the group is left. Throws `PositionStale` where it was given the topic only after standing by, `AssignmentLost` when the topic was
 * taken away or may have been, and `PositionGone` where `from` is past the end or the topic was recreated.
 */
export async function* readTopic(
  kafka: Kafka,
  context: ReadContext & { quarantine: Quarantine },
  options: ReaderOptions,
  from: Offset,
  signal: AbortSignal,
  onOpened: (reader: OpenedReader) => void,
): AsyncGenerator<readonly ReadEntry[], void, undefined> {
  const askedAt = performance.now()
  const stop = AbortSignal.any([signal, context.closed])
  for (let attempt = 1; !stop.aborted; attempt++) {
    try {
      await context.ensure()
    } catch (error) {
      if (stop.aborted) return
      throw error
    }
    const reader = openReader(kafka, context, options, from, askedAt)
    onOpened(reader)
    const forget = onAbort(stop, () => reader.stop())
    try {
      yield* acknowledging(context, reader)
      return
    } catch (error) {
      if (stop.aborted && error instanceof LogClosed) return
      // Before the first assignment nothing was read, so the join is retried; the first join to a new broker usually fails once.
      if (reader.assigned() || error instanceof LogRefused) throw error
      if (!stop.aborted) await backOff(error, attempt, retriesOf('read', { ...context, closed: stop }))
    } finally {
      forget()
      await reader.leave()
    }
  }
}

async function* acknowledging(
  context: ReadContext & { quarantine: Quarantine },
  reader: OpenedReader,
): AsyncGenerator<readonly ReadEntry[], void, undefined> {
  for (let batch = await reader.take(); batch; batch = await reader.take()) {
    const { entries, rejected } = batch
    for (const { offset, reason } of rejected) {
      context.report({ kind: 'message-rejected', topic: context.topic, offset, reason })
    }
    await context.quarantine.add(rejected)
    yield entries
    const last = entries.at(-1)
    if (last) reader.stored(last.offset)
  }
}
