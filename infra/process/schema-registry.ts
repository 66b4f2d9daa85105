/** Registers the schemas of public topics with a registry that has Confluent's API. Records are the same with and without one. */
import { z } from 'zod'
import type { PublishedKind } from '../../aggregator/extras/publish/publication.ts'
import { CandleRecordSchema, PoolRecordSchema, TickRecordSchema } from '../../api/extras/topics/schemas.ts'
import { retried } from '../../ingest/lib/wait.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { SchemaRegistry } from '../config/publish-config.ts'
import type { LogFact } from '../kafka/client/facts.ts'
import { describeError } from '../telemetry/describe-error.ts'

const SCHEMAS = { ticks: TickRecordSchema, pools: PoolRecordSchema, candles: CandleRecordSchema } as const
const CONTENT_TYPE = 'application/vnd.schemaregistry.v1+json'
const TIMEOUT_MS = 10_000
const RETRY = { firstMs: 1_000, maxMs: 60_000 }
/** Characters of an answer that an error quotes. */
const MAX_ANSWER = 300

/** Each schema gets the subject `<topic>-value`. Repeated, with facts, until the registry has it or the signal aborts. */
export async function registerSchemas(
  registry: SchemaRegistry,
  topics: ReadonlyMap<PublishedKind, string>,
  { report, signal }: { report: Report<LogFact>; signal: AbortSignal },
): Promise<void> {
  for (const [kind, topic] of topics) {
    const subject = `${topic}-value`
    const failed = (error: unknown, waitMs: number) =>
      report({ kind: 'schema-not-registered', subject, waitMs, error: describeError(error) })
    const id = await retried(() => register(registry, subject, SCHEMAS[kind], signal), { ...RETRY, signal, failed })
    report({ kind: 'schema-registered', subject, id })
  }
}

async function register(
  { url, username, password }: SchemaRegistry,
  subject: string,
  schema: z.ZodObject,
  signal: AbortSignal,
): Promise<number> {
  const basic = username === undefined ? undefined : Buffer.from(`${username}:${password ?? ''}`).toString('base64')
  const response = await fetch(`${url}/subjects/${encodeURIComponent(subject)}/versions`, {
    method: 'POST',
    headers: { 'Content-Type': CONTENT_TYPE, ...(basic !== undefined && { Authorization: `Basic ${basic}` }) },
    body: JSON.stringify({ schemaType: 'JSON', schema: JSON.stringify(z.toJSONSchema(schema)) }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  })
  const text = (await response.text()).slice(0, MAX_ANSWER)
  if (!response.ok) throw new Error(`SCHEMA_REGISTRY_URL answered ${response.status}: ${text}`)
  return (JSON.parse(text) as { id: number }).id
}
