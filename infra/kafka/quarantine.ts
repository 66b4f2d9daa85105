/** Quarantine: what can't be read or stored is copied, with its reason, to the topic `<topic>.rejected`. */

import type { Kafka } from 'kafkajs'
import { settledWithin } from '../lib/with-timeout.ts'
import { headersOf } from './appender.ts'
import { LogClosed } from './errors.ts'
import { type Rejected, toBatches } from './parts.ts'
import { COMPRESSION_TYPES, type LogContext } from './producer.ts'
import { CLIENT_RETRY, retryStep, textOf } from './retry.ts'
import { ensureTopic, STREAM_TOPIC } from './topic.ts'

/** Copies are there again whenever the messages are read again. */
export async function quarantine(kafka: Kafka, context: LogContext, rejected: readonly Rejected[]): Promise<void> {
  const topic = `${context.topic}.rejected`
  const records = rejected.flatMap(({ offset, reason, records }) =>
    records.map((record) => ({ ...record, because: { reason, offset: String(offset) } })),
  )
  try {
    await ensureTopic(kafka, context, { ...STREAM_TOPIC, topic })
    await retryStep('set aside', { ...context, topic }, async () => {
      const producer = kafka.producer({
        allowAutoTopicCreation: false,
        createPartitioner: () => () => 0,
        retry: CLIENT_RETRY,
      })
      try {
        await producer.connect()
        for (const batch of toBatches(records)) {
          const messages = batch.map(({ value, part, because }) => ({
            value,
            headers: { ...headersOf(part), ...because },
          }))
          await producer.send({ topic, acks: -1, compression: COMPRESSION_TYPES[context.compression], messages })
        }
      } finally {
        await settledWithin(2000, producer.disconnect())
      }
    })
  } catch (error) {
    // A copy that Kafka does not take must not stop what comes after it.
    if (error instanceof LogClosed) throw error
    context.report({ kind: 'rejected-not-copied', topic, error: textOf(error) })
  }
}
