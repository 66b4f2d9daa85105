/** The writing end: one awaited send at a time, so that no retry can change the order. */

import { randomUUID } from 'node:crypto'
import kafkajs, { type Kafka, type Producer } from 'kafkajs'
import { settledWithin } from '../lib/with-timeout.ts'
import { type LogRecord, toBatches, toRecords } from './parts.ts'
import { CLIENT_RETRY, kafkaCodes, type RetryContext, retried } from './retry.ts'
import { ensureTopic } from './topic.ts'
import type { AnyMessage } from './wire-format.ts'

export type Appender = { append(messages: readonly AnyMessage[]): Promise<void>; close(): Promise<void> }

/**
 * The producer numbers its batches (`idempotent`), so that a batch whose answer was lost is not appended twice: a late copy of an
 * orphaned block, after the block that replaced it, would look like a reorg back. After these answers the numbering is void and a
 * new producer starts its own; a batch that is in the log twice because of that does no harm.
 */
const NUMBERING_LOST: ReadonlySet<string> = new Set([
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'DUPLICATE_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_EPOCH',
  'INVALID_PRODUCER_ID_MAPPING',
])

export function createAppender(kafka: Kafka, context: RetryContext): Appender {
  const { topic } = context
  const writer = randomUUID()
  let messagesBegun = 0
  let producer: Producer | undefined
  let queue: Promise<void> = Promise.resolve()

  async function connected(): Promise<Producer> {
    producer ??= await connectProducer(kafka)
    return producer
  }

  async function send(batch: readonly LogRecord[]): Promise<void> {
    const messages = batch.map(({ value, part }) => ({ key: null, value, partition: 0, headers: headersOf(part) }))
    await retried('append', context, async () => {
      try {
        await (await connected()).send({ topic, acks: -1, compression: kafkajs.CompressionTypes.GZIP, messages })
      } catch (error) {
        const codes = kafkaCodes(error)
        if (codes.some((code) => NUMBERING_LOST.has(code))) {
          const lost = producer
          producer = undefined
          if (lost) await settledWithin(2000, lost.disconnect())
        }
        if (codes.includes('UNKNOWN_TOPIC_OR_PARTITION')) await ensureTopic(kafka, context)
        throw error
      }
    })
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
    append(messages) {
      const appended = queue.then(() => sendAll(messages))
      queue = appended.catch(() => {})
      return appended
    },
    async close() {
      await queue
      if (producer) await settledWithin(5000, producer.disconnect())
    },
  }
}

async function connectProducer(kafka: Kafka): Promise<Producer> {
  const producer = kafka.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    createPartitioner: () => () => 0,
    retry: CLIENT_RETRY,
  })
  try {
    await producer.connect()
    return producer
  } catch (error) {
    await settledWithin(2000, producer.disconnect())
    throw error
  }
}

export function headersOf(part: LogRecord['part']): Record<string, string> {
  return part ? { message: part.messageId, part: String(part.index), parts: String(part.count) } : {}
}
