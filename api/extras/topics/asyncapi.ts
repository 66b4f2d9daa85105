/** The AsyncAPI 3 document of the public topics, made of the schemas of their records. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { NETWORK_NAMES } from '../../../ingest/model/network.ts'
import { CandleRecordSchema, PoolRecordSchema, RECORD_SCHEMA_VERSION, TickRecordSchema } from './schemas.ts'

type JsonSchema = z.core.JSONSchema.JSONSchema

type Topic = {
  summary: string
  description: string
  cleanup: 'delete' | 'compact'
  key: string
  headers: readonly RecordHeader[]
  record: z.ZodObject
}

const HEADER_MEANINGS = {
  schema: { type: 'string', description: `Version of the schema: ${RECORD_SCHEMA_VERSION}.` },
  op: { type: 'string', enum: ['insert', 'retract'], description: 'As in the record.' },
  version: { type: 'string', description: 'As in the record: 128 bits, decimal.' },
  final: { type: 'string', enum: ['true', 'false'], description: 'As in the record.' },
} as const
type RecordHeader = keyof typeof HEADER_MEANINGS

/** By the first part of their name; the second part is the network. */
const TOPICS: Readonly<Record<string, Topic>> = {
  ticks: {
    summary: 'Swaps, one record each',
    description:
      'In the order of the chain for each pool. A reorg retracts what it removed, newest first, before the swaps of the new branch.',
    cleanup: 'delete',
    key: 'The id of the pool.',
    headers: ['schema', 'op', 'version', 'final'],
    record: TickRecordSchema,
  },
  pools: {
    summary: 'Pools and their tokens',
    description: 'The newest record of each pool stays.',
    cleanup: 'compact',
    key: 'The id of the pool.',
    headers: ['schema', 'final'],
    record: PoolRecordSchema,
  },
  candles: {
    summary: 'Candles of 1 second, 1 minute, 1 hour and 1 day',
    description: 'The state of each candle that a block changed. The newest record of each candle stays.',
    cleanup: 'compact',
    key: 'Pool, resolution in seconds, and start in seconds since 1970, joined by `:`.',
    headers: ['schema', 'version', 'final'],
    record: CandleRecordSchema,
  },
}

export type AsyncApi = ReturnType<typeof asyncApi>

export function asyncApi() {
  const names = Object.keys(TOPICS)
  const entries = Object.entries(TOPICS)
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Candlepool, public topics',
      version: `v${RECORD_SCHEMA_VERSION}`,
      description: readFileSync(new URL('../docs/topics.md', import.meta.url), 'utf8'),
      license: { name: 'MIT' },
    },
    defaultContentType: 'application/json',
    channels: Object.fromEntries(entries.map(([name, topic]) => [name, channel(name, topic)])),
    operations: Object.fromEntries(
      names.map((name) => [`publish-${name}`, { action: 'send' as const, channel: { $ref: `#/channels/${name}` } }]),
    ),
    components: {
      messages: Object.fromEntries(entries.map(([name, topic]) => [name, message(topic)])),
      schemas: Object.fromEntries(entries.map(([name, { record }]) => [name, recordSchema(record)])),
    },
  }
}

/** JSON Schema (draft-07) of the records of a topic, by the first part of its name. */
export const RECORD_SCHEMAS: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  Object.entries(TOPICS).map(([name, { record }]) => [name, recordSchema(record)]),
)

function channel(name: string, { summary, description, cleanup }: Topic) {
  return {
    address: `{prefix}${name}.{network}`,
    summary,
    description,
    parameters: {
      prefix: { description: 'KAFKA_TOPIC_PREFIX of the deployment, or nothing.', default: '' },
      network: { description: 'The chain.', enum: [...NETWORK_NAMES] },
    },
    messages: { record: { $ref: `#/components/messages/${name}` } },
    bindings: { kafka: { topicConfiguration: { 'cleanup.policy': [cleanup] }, bindingVersion: '0.5.0' } },
  }
}

function message({ summary, key, headers, record }: Topic) {
  return {
    name: summary,
    contentType: 'application/json',
    headers: {
      type: 'object',
      required: [...headers],
      properties: Object.fromEntries(headers.map((header) => [header, HEADER_MEANINGS[header]])),
    },
    payload: { schemaFormat: 'application/schema+json;version=draft-07', schema: recordSchema(record) },
    bindings: { kafka: { key: { type: 'string', description: key }, bindingVersion: '0.5.0' } },
  }
}

function recordSchema(record: z.ZodObject): JsonSchema {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(record, { target: 'draft-7' })
  return schema
}
