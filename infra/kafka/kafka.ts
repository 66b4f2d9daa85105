/** The log of a cluster: one Kafka topic a network, of one partition, in the order of the chain. */
import type { Message, RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import type { KafkaConnection } from '../config/kafka-config.ts'
import { createAppender } from './appender.ts'
import { kafkaClient } from './client/client.ts'
import { AssignmentLost, LogClosed } from './client/errors.ts'
import type { LogFact } from './client/facts.ts'
import { CLIENT_RETRY, OUTAGE_RETRY, retryStep } from './client/retry.ts'
import { ensureTopic, STREAM_TOPIC } from './client/topic.ts'
import { watchSettings } from './client/topic-settings.ts'
import type { OpenedReader } from './group/group-reader.ts'
import { boundsIn, entryAt, lastEntry, recordsOf } from './lookup.ts'
import { createQuarantine } from './quarantine.ts'
import { readTopic } from './reader.ts'
import { logFormat } from './wire/log-format.ts'
import type { ReadEntry } from './wire/parts.ts'
import type { AnyMessage, MessageKinds } from './wire/wire-format.ts'

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
  // Messages of other kinds are set aside.
  return (await openTopic(options, { topic: 'blocks', group: 'aggregator', kinds: STREAM_KINDS })) as KafkaLog
}

/** The log of history that jobs have read: the topic `backfill.<network>`, read by the group `candlepool.backfill.<network>`. */
export async function kafkaBackfillLog(options: KafkaLogOptions): Promise<KafkaLog<RangeOverwrite>> {
  const names = { topic: 'backfill', group: 'backfill', kinds: BACKFILL_KINDS }
  return (await openTopic(options, names)) as KafkaLog<RangeOverwrite>
}

const STREAM_KINDS: MessageKinds = new Set(['block', 'range'])
const BACKFILL_KINDS: MessageKinds = new Set(['restatement'])

async function openTopic(
  options: KafkaLogOptions,
  names: { topic: string; group: string; kinds: MessageKinds },
): Promise<KafkaLog<AnyMessage>> {
  const { network, report, clientId, prefix = '', sessionTimeoutMs = 15_000 } = options
  const kafka = kafkaClient(options, { retry: CLIENT_RETRY, report, clientId })
  const outageClient = kafkaClient(options, { retry: OUTAGE_RETRY, report, clientId })
  const closing = new AbortController()
  const { topics: rules = { create: true }, compression = 'gzip', signingKeys } = options
  const topic = `${prefix}${names.topic}.${network}`
  const format = logFormat({ topic, network, kinds: names.kinds, signingKeys })
  const own = { topic, report, closed: closing.signal, rules, compression, signingKeys, format }
  const ensure = () => ensureTopic(kafka, own, { ...STREAM_TOPIC, topic })
  const context = { ...own, ensure }
  const reading = { group: `${prefix}candlepool.${names.group}.${network}`, sessionTimeoutMs }

  const opening = options.signal ? AbortSignal.any([options.signal, closing.signal]) : closing.signal
  await ensureTopic(kafka, { ...context, closed: opening }, { ...STREAM_TOPIC, topic: context.topic })
  const appender = createAppender(kafka, context)
  const quarantine = createQuarantine(kafka, context)
  void watchSettings(kafka, context)
  let reader: OpenedReader | undefined
  /** The last one that was read. */
  let batch: readonly ReadEntry[] = []

  return {
    async append(messages) {
      if (closing.signal.aborted) throw new LogClosed(context.topic)
      await appender.append(messages)
    },
    last: () => lastEntry(kafka, context),
    at: (offset) => entryAt(kafka, context, offset),
    end: async () => (await retryStep('ask', context, () => boundsIn(kafka, context))).end,
    async reject(offset, reason) {
      const records = batch.find((entry) => entry.offset === offset)?.records
      await quarantine.add([{ offset, reason, records: records ?? (await recordsOf(kafka, context, offset)) }])
    },
    async *read(from, signal) {
      const onOpened = (opened: OpenedReader) => {
        reader = opened
      }
      for await (batch of readTopic(outageClient, { ...context, quarantine }, reading, from, signal, onOpened))
        yield batch
    },
    async confirm() {
      if (!reader) throw new AssignmentLost(context.topic, 'it has not begun to read')
      await reader.confirm()
    },
    async close() {
      closing.abort()
      await Promise.all([appender.close(), quarantine.close()])
    },
  }
}
