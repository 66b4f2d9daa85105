/** A producer whose sends are repeated until the brokers have acknowledged them, one at a time, so that no retry changes the order. */
import type { Kafka, Producer, TopicMessages } from 'kafkajs'
import type { Compression } from '../../config/kafka-config.ts'
import { settledWithin } from '../../lib/with-timeout.ts'
import { kafkajs } from '../wire/kafkajs.ts'
import type { SigningKeys } from '../wire/signature.ts'
import { CLIENT_RETRY, kafkaCodes, type RetryContext, retryStep } from './retry.ts'
import type { TopicContext } from './topic.ts'

export type SteadyProducer = {
  /** Resolves once all in-sync replicas have the records. `repair` is called where a topic is missing. */
  send(
    step: 'append' | 'publish' | 'set aside',
    topicMessages: TopicMessages[],
    repair: () => Promise<void>,
  ): Promise<void>
  close(): Promise<void>
}

/**
 * The producer numbers its batches (`idempotent`), so that a retry after a lost answer does not append a batch twice. After these answers the
 * numbering is void, and a new producer starts its own: then a retry may append a batch twice.
 */
const NUMBERING_LOST: ReadonlySet<string> = new Set([
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'DUPLICATE_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_EPOCH',
  'INVALID_PRODUCER_ID_MAPPING',
])

/** A topic that this process makes and writes. */
export type LogContext = TopicContext & Pick<ProducerOptions, 'compression'> & { signingKeys?: SigningKeys | undefined }

export type ProducerOptions = {
  compression: Compression
  /** Absent: by the hash of the key. */
  partitionOf?: () => number
}

export function steadyProducer(kafka: Kafka, context: RetryContext, options: ProducerOptions): SteadyProducer {
  let producer: Producer | undefined

  async function connected(): Promise<Producer> {
    producer ??= await connectProducer(kafka, options)
    return producer
  }

  return {
    async send(step, topicMessages, repair) {
      await retryStep(step, context, async () => {
        try {
          await (await connected()).sendBatch({
            acks: -1,
            compression: COMPRESSION_TYPES[options.compression],
            topicMessages,
          })
        } catch (error) {
          const codes = kafkaCodes(error)
          if (codes.some((code) => NUMBERING_LOST.has(code))) {
            const lost = producer
            producer = undefined
            if (lost) await settledWithin(2000, lost.disconnect())
          }
          if (codes.includes('UNKNOWN_TOPIC_OR_PARTITION')) await repair()
          throw error
        }
      })
    },
    async close() {
      if (producer) await settledWithin(5000, producer.disconnect())
    },
  }
}

export const COMPRESSION_TYPES = { gzip: kafkajs.CompressionTypes.GZIP, none: kafkajs.CompressionTypes.None }

async function connectProducer(kafka: Kafka, { partitionOf }: ProducerOptions): Promise<Producer> {
  const producer = kafka.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    createPartitioner: partitionOf ? () => partitionOf : kafkajs.Partitioners.DefaultPartitioner,
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
