/** The log of a cluster: one Kafka topic a network, of one partition, in the order of the chain. */

import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import kafkajs, { type KafkaConfig, type LogEntry, type RetryOptions } from 'kafkajs'
import type { Message, RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import { createAppender } from './appender.ts'
import { AssignmentLost, LogClosed } from './errors.ts'
import type { LogFact } from './facts.ts'
import type { OpenedReader } from './group-reader.ts'
import { entryAt, lastEntry, recordsOf } from './lookup.ts'
import { quarantine } from './quarantine.ts'
import { readTopic } from './reader.ts'
import { CLIENT_RETRY, OUTAGE_RETRY, retried } from './retry.ts'
import { boundsOf, ensureTopic } from './topic.ts'
import type { AnyMessage } from './wire-format.ts'

// Of a CommonJS module like this one, Node sees only some of the exports by name.
const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = kafkajs

export type KafkaLogOptions = {
  brokers: readonly string[]
  network: NetworkName
  report: Report<LogFact>
  clientId?: string
  /** Before the names of topic and group, where several deployments share a cluster. */
  prefix?: string
  /** After this long without a sign of life the broker hands the topic to a member that stands by. */
  sessionTimeoutMs?: number
  security?: Pick<KafkaConfig, 'ssl' | 'sasl'>
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
  const { brokers, network, report, clientId = 'candlepool', prefix = '', sessionTimeoutMs = 15_000 } = options
  useFastGzip()
  const client = (retry: RetryOptions) =>
    new Kafka({
      ...options.security,
      clientId,
      brokers: [...brokers],
      retry,
      logLevel: logLevel.WARN,
      logCreator: () => (entry) => reportEntry(report, entry),
    })
  const kafka = client(CLIENT_RETRY)
  const outageClient = client(OUTAGE_RETRY)
  const closing = new AbortController()
  const context = { topic: `${prefix}${names.topic}.${network}`, report, closed: closing.signal }
  const reading = { group: `${prefix}candlepool.${names.group}.${network}`, sessionTimeoutMs }

  const opening = options.signal ? AbortSignal.any([options.signal, closing.signal]) : closing.signal
  await ensureTopic(kafka, { ...context, closed: opening })
  const appender = createAppender(kafka, context)
  let reader: OpenedReader | undefined

  return {
    async append(messages) {
      if (closing.signal.aborted) throw new LogClosed(context.topic)
      await appender.append(messages)
    },
    last: () => lastEntry(kafka, context),
    at: (offset) => entryAt(kafka, context, offset),
    end: async () => (await retried('ask', context, () => boundsOf(kafka, context.topic))).end,
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

/** gzip at level 1: ticks are mostly random bytes, on which level 6 takes twice the time for 2 % less. kafkajs keeps one table of codecs. */
function useFastGzip(): void {
  const compress = promisify<Buffer, { level: number }, Buffer>(gzip)
  const decompress = promisify<Buffer, Buffer>(gunzip)
  CompressionCodecs[CompressionTypes.GZIP] = () => ({
    compress: ({ buffer }: { buffer: Buffer }) => compress(buffer, { level: 1 }),
    decompress: (buffer: Buffer) => decompress(buffer),
  })
}

/** kafkajs logs this at each start of an idempotent producer with bounded retries; a retry here keeps the numbering, so nothing is lost. */
const BOUNDED_RETRIES = 'Limiting retries for the idempotent producer may invalidate EoS guarantees'

function reportEntry(report: Report<LogFact>, { level, namespace, log }: LogEntry): void {
  if (log.message === BOUNDED_RETRIES) return
  const error: unknown = log['error']
  report({
    kind: 'kafka-client',
    severity: level === logLevel.ERROR ? 'error' : 'warning',
    scope: namespace,
    message: log.message,
    error: error === undefined ? undefined : String(error),
  })
}
