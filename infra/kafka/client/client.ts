/** The Kafka client of a connection: one configuration for logs and public topics. */
import { connect, isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { promisify } from 'node:util'
import { gunzip, gzip, type ZlibOptions } from 'node:zlib'
import type { ISocketFactory, Kafka as KafkaClient, LogEntry, RetryOptions } from 'kafkajs'
import type { Report } from '../../../ingest/model/report.ts'
import type { KafkaConnection } from '../../config/kafka-config.ts'
import { kafkajs } from '../wire/kafkajs.ts'
import { MAX_UNPACKED_BYTES } from '../wire/record-batch.ts'
import type { LogFact } from './facts.ts'

const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = kafkajs

/** That of kafkajs. */
const KEEP_ALIVE_MS = 60_000

export function kafkaClient(
  { brokers, security }: KafkaConnection,
  options: { retry: RetryOptions; report: Report<LogFact>; clientId?: string | undefined },
): KafkaClient {
  useFastGzip()
  return new Kafka({
    ...security,
    clientId: options.clientId ?? 'candlepool',
    brokers: brokers.map(hostNamed),
    socketFactory: connectNamed,
    retry: options.retry,
    logLevel: logLevel.WARN,
    logCreator: () => (entry) => reportEntry(options.report, entry),
  })
}

const LITERAL = '.ipv6-literal'

/** `[::1]:9092` as a host name: kafkajs splits a broker at its first colon. */
function hostNamed(broker: string): string {
  const [, address, port] = /^\[(.+)\]:(\d+)$/.exec(broker) ?? []
  return address === undefined ? broker : `${address.replaceAll(':', '-')}${LITERAL}:${port}`
}

/** As kafkajs connects, and to the address of such a name. */
const connectNamed: ISocketFactory = ({ host: name, port, ssl, onConnect }) => {
  const host = name.endsWith(LITERAL) ? name.slice(0, -LITERAL.length).replaceAll('-', ':') : name
  const servername = isIP(host) ? {} : { servername: host }
  const socket = ssl ? connectTls({ host, port, ...servername, ...ssl }, onConnect) : connect({ host, port }, onConnect)
  return socket.setKeepAlive(true, KEEP_ALIVE_MS)
}

/** gzip at level 1: ticks are mostly random bytes, on which level 6 takes twice the time for 2 % less. kafkajs keeps one table of codecs. */
function useFastGzip(): void {
  const compress = promisify<Buffer, { level: number }, Buffer>(gzip)
  const decompress = promisify<Buffer, ZlibOptions, Buffer>(gunzip)
  CompressionCodecs[CompressionTypes.GZIP] = () => ({
    compress: ({ buffer }: { buffer: Buffer }) => compress(buffer, { level: 1 }),
    decompress: (buffer: Buffer) => decompress(buffer, { maxOutputLength: MAX_UNPACKED_BYTES }),
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
