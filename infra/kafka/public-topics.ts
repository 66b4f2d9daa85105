/** The public topics of a network: changes of the tables as JSON records, keyed by pool. api/extras/docs/topics.md has their contract. */
import type { Publication, PublishedKind, PublishSink } from '../../aggregator/extras/publish/publication.ts'
import { candleRecord, poolRecord, tickRecord } from '../../api/extras/topics/records.ts'
import { RECORD_SCHEMA_VERSION } from '../../api/extras/topics/schemas.ts'
import type { Network } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { KafkaConnection } from '../config/kafka-config.ts'
import { kafkaClient } from './client/client.ts'
import type { LogFact } from './client/facts.ts'
import { steadyProducer } from './client/producer.ts'
import { CLIENT_RETRY } from './client/retry.ts'
import { ensureTopic } from './client/topic.ts'
import { toBatches } from './wire/parts.ts'

export type PublicTopics = PublishSink & { topics: ReadonlyMap<PublishedKind, string>; close(): Promise<void> }

export type PublicTopicsOptions = {
  network: Network
  kinds: ReadonlySet<PublishedKind>
  report: Report<LogFact>
  /** Aborts waits for brokers. */
  closed: AbortSignal
}

type PublicRecord = { key: string; value: Buffer | null; headers: Record<string, string> }

const SCHEMA = String(RECORD_SCHEMA_VERSION)
/** In this order. */
const CLEANUP = { pools: 'compact', ticks: 'delete', candles: 'compact' } as const
const KINDS: readonly PublishedKind[] = ['pools', 'ticks', 'candles']

/** Makes the topics before the first record. Every step waits out lost brokers, with facts, until `closed` aborts. */
export function openPublicTopics(connection: KafkaConnection, options: PublicTopicsOptions): PublicTopics {
  const { network, kinds, report, closed } = options
  const { prefix = '', topics: rules = { create: true }, compression = 'gzip' } = connection
  const kafka = kafkaClient(connection, { retry: CLIENT_RETRY, report })
  const nameOf = (kind: PublishedKind) => `${prefix}${kind}.${network.name}`
  const producer = steadyProducer(kafka, { topic: nameOf('ticks'), report, closed }, { compression })
  let isEnsured = false

  async function ensure(): Promise<void> {
    for (const kind of KINDS) {
      if (!kinds.has(kind)) continue
      const topic = nameOf(kind)
      await ensureTopic(kafka, { topic, report, closed, rules }, { topic, partitions: 'any', cleanup: CLEANUP[kind] })
    }
    isEnsured = true
  }

  return {
    topics: new Map(KINDS.filter((kind) => kinds.has(kind)).map((kind) => [kind, nameOf(kind)])),
    async publish(publication) {
      if (!isEnsured) await ensure()
      const records = recordsOf(network, publication)
      for (const kind of KINDS) {
        if (!kinds.has(kind)) continue
        for (const messages of toBatches(records[kind]()))
          await producer.send('publish', [{ topic: nameOf(kind), messages }], ensure)
      }
    },
    close: () => producer.close(),
  }
}

/** Encoded as they are sent, so that few are in memory. */
function recordsOf(network: Network, { pools, ticks, candles }: Publication) {
  return {
    *pools(): Generator<PublicRecord> {
      for (const change of pools) {
        const { id, pool, isFinal } = change
        const headers = { schema: SCHEMA, final: String(isFinal) }
        yield { key: id, value: pool ? encode(poolRecord(network, pool, change)) : null, headers }
      }
    },
    *ticks(): Generator<PublicRecord> {
      for (const change of ticks) {
        const { op, version, isFinal, tick } = change
        const headers = { schema: SCHEMA, op, version: String(version), final: String(isFinal) }
        yield { key: tick.pool, value: encode(tickRecord(network, change)), headers }
      }
    },
    *candles(): Generator<PublicRecord> {
      for (const change of candles) {
        const { bucket, version, isFinal } = change
        const headers = { schema: SCHEMA, version: String(version), final: String(isFinal) }
        const value = bucket.candle.trades > 0 ? encode(candleRecord(network, change)) : null
        yield { key: `${bucket.pool}:${bucket.resolution}:${bucket.start}`, value, headers }
      }
    },
  }
}

function encode(record: object): Buffer {
  return Buffer.from(JSON.stringify(record))
}
