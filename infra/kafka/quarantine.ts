/** Quarantine: a record that can't be read or stored is copied, with its reason, to the topic `<topic>.rejected`, while later ones are read. */

import type { Kafka } from 'kafkajs'
import { serial } from '../../ingest/lib/serial.ts'
import { headersOf } from './appender.ts'
import { LogClosed } from './client/errors.ts'
import { type LogContext, steadyProducer } from './client/producer.ts'
import { textOf } from './client/retry.ts'
import { ensureTopic, STREAM_TOPIC } from './client/topic.ts'
import { type Rejected, toBatches } from './wire/parts.ts'

export type Quarantine = {
  /** Resolves once few wait to be copied. Copies are there again whenever the messages are read again. */
  add(rejected: readonly Rejected[]): Promise<void>
  close(): Promise<void>
}

/** Messages that wait to be copied. */
const MAX_WAITING = 100

export function createQuarantine(kafka: Kafka, log: LogContext): Quarantine {
  const topic = `${log.topic}.rejected`
  const context = { ...log, topic }
  const producer = steadyProducer(kafka, context, { compression: log.compression, partitionOf: () => 0 })
  const ensure = () => ensureTopic(kafka, context, { ...STREAM_TOPIC, topic })
  const inOrder = serial()
  let waiting: Rejected[] = []
  let isEnsured = false

  async function copy(): Promise<void> {
    const rejected = waiting
    waiting = []
    if (rejected.length === 0) return
    try {
      if (!isEnsured) await ensure()
      isEnsured = true
      for (const batch of toBatches(rejected.flatMap(recordsOf)))
        await producer.send('set aside', [{ topic, messages: batch }], ensure)
    } catch (error) {
      // A copy that Kafka does not take must not stop later records.
      if (!(error instanceof LogClosed)) context.report({ kind: 'rejected-not-copied', topic, error: textOf(error) })
    }
  }

  return {
    async add(rejected) {
      if (rejected.length === 0) return
      waiting.push(...rejected)
      const copied = inOrder(copy)
      if (waiting.length > MAX_WAITING) await copied
    },
    close: () => inOrder(producer.close),
  }
}

function recordsOf({ offset, reason, records }: Rejected) {
  return records.map(({ value, part }) => ({
    ...{ key: null, value },
    headers: { ...headersOf(part), reason, offset: String(offset) },
  }))
}
