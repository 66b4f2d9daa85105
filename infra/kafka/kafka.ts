/** The log of a cluster: one Kafka topic a network, of one partition, in the order of the chain. */
import type { Message, RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import type { KafkaConnection } from '../config/kafka-connection.ts'
import { createAppender } from './appender.ts'
import { kafkaClient } from './client.ts'
import { AssignmentLost, LogClosed } from './errors.ts'
import type { LogFact } from './facts.ts'
import type { OpenedReader } from './group-reader.ts'
import { entryAt, lastEntry, recordsOf } from './lookup.ts'
import { quarantine } from './quarantine.ts'
import { readTopic } from './reader.ts'
import { CLIENT_RETRY, OUTAGE_RETRY, retryStep } from './retry.ts'
import { boundsOf, ensureTopic, STREAM_TOPIC } from './topic.ts'
import type { AnyMessage } from './wire-format.ts'

export type KafkaLogOptions = KafkaConnection & {
  network: NetworkName
  report: Report<LogFact>
  clientId?: string
  /** After this long without a sign of life the broker hands the topic to a member that stands by. */
  sessionTimeoutMs?: number
  /** Cancels the opening, which otherwise retries until brokers answer. */
  signal?: AbortSignal
}

/** `close` rejects appends that are not done and ends readers. */
export type KafkaLog<M = Message> = TickLog<M> & { close(): Promise<void> }

/**
 * Makes the topic `blocks.<network>` if it is missing. Every operation waits out lost brokers, with facts, until the log is closed.
 * `read` joins the group `candlepool.aggregator.<network>` and stands by while another process reads: see `readTopic` for its errors. A message's offset is that of its last part, so offsets have gaps.
 */
export async function kafkaLog(options: KafkaLogOptions): Promise<KafkaLog> {
  // Nothing but the stream is ever appended to its topic.
  return (await openTopic(options, { topic: 'blocks', group: 'aggregator' })) as KafkaLog
}

/** The same for what jobs have read: the topic `backfill.<network>`, read by the group `candlepool.backfill.<network>`. */
export async function kafkaBackfillLog(options: KafkaLogOptions): Promise<KafkaLog<RangeOverwrite>> {
  return (await openTopic(options, { topic: 'backfill', group: 'backfill' })) as KafkaLog<RangeOverwrite>
}

async function openTopic(
  options: KafkaLogOptions,
  names: { topic: string; group: string },
): Promise<KafkaLog<AnyMessage>> {
  const { network, report, clientId, prefix = '', sessionTimeoutMs = 15_000 } = options
  const kafka = kafkaClient(options, { retry: CLIENT_RETRY, report, clientId })
  const outageClient = kafkaClient(options, { retry: OUTAGE_RETRY, report, clientId })
  const closing = new AbortController()
  const { topics: rules = { create: true }, compression = 'gzip' } = options
  const context = { topic: `${prefix}${names.topic}.${network}`, report, closed: closing.signal, rules, compression }
  const reading = { group: `${prefix}candlepool.${names.group}.${network}`, sessionTimeoutMs }

  const opening = options.signal ? AbortSignal.any([options.signal, closing.signal]) : closing.signal
  await ensureTopic(kafka, { ...context, closed: opening }, { ...STREAM_TOPIC, topic: context.topic })
  const appender = createAppender(kafka, context)
  let reader: OpenedReader | undefined

  return {
    async append(messages) {
      if (closing.signal.aborted) throw new LogClosed(context.topic)
      await appender.append(messages)
    },
    last: () => lastEntry(kafka, context),
    at: (offset) => entryAt(kafka, context, offset),
    end: async () => (await retryStep('ask', context, () => boundsOf(kafka, context.topic))).end,
    async reject(offset, reason) {
      await quarantine(kafka, context, [{ offset, reason, records: await recordsOf(kafka, context, offset) }])
    },
    read: (from, signal) =>
      readTopic(outageClient, context, reading, from, signal, (opened) => {
        reader = opened
      }),
    async confirm() {
      if (!reader) throw new AssignmentLost(context.topic, 'it has not begun to read')
      await reader.confirm()
    },
    async close() {
      closing.abort()
      await appender.close()
    },
  }
}
