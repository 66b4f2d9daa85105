/** The writing end: one awaited send at a time, so that no retry can change the order. */

import { randomUUID } from 'node:crypto'
import type { Kafka } from 'kafkajs'
import { serial } from '../../ingest/lib/serial.ts'
import { type LogContext, steadyProducer } from './client/producer.ts'
import { ensureTopic, STREAM_TOPIC } from './client/topic.ts'
import { type LogRecord, toBatches, toRecords } from './wire/parts.ts'
import { SIGNATURE_HEADER, signaturesOf } from './wire/signature.ts'
import type { AnyMessage } from './wire/wire-format.ts'

export type Appender = { append(messages: readonly AnyMessage[]): Promise<void>; close(): Promise<void> }

/** A batch that is in the log twice does no harm; a late copy of an orphaned block after its replacement would look like a reorg back. */
export function createAppender(kafka: Kafka, context: LogContext): Appender {
  const { topic, signingKeys } = context
  const signatures = signingKeys && signaturesOf(topic, signingKeys)
  const writer = randomUUID()
  let messagesBegun = 0
  const producer = steadyProducer(kafka, context, { compression: context.compression, partitionOf: () => 0 })
  const inOrder = serial()

  function send(batch: readonly LogRecord[]): Promise<void> {
    const messages = batch.map((record) => {
      const headers = { ...headersOf(record.part), ...(signatures && { [SIGNATURE_HEADER]: signatures.sign(record) }) }
      return { key: null, value: record.value, partition: 0, headers }
    })
    return producer.send('append', [{ topic, messages }], () => ensureTopic(kafka, context, { ...STREAM_TOPIC, topic }))
  }

  async function sendAll(messages: readonly AnyMessage[]): Promise<void> {
    const records = function* () {
      for (const message of messages) yield* toRecords(message, `${writer}-${messagesBegun++}`)
    }
    // The next batch is encoded while this one is on its way.
    let sending = Promise.resolve()
    for (const batch of toBatches(records())) {
      await sending
      sending = send(batch)
      // Awaited below, unless encoding the next one throws first.
      sending.catch(() => {})
    }
    await sending
  }

  return {
    append: (messages) => inOrder(() => sendAll(messages)),
    close: () => inOrder(producer.close),
  }
}

export function headersOf(part: LogRecord['part']): Record<string, string> {
  return part ? { message: part.messageId, part: String(part.index), parts: String(part.count) } : {}
}
