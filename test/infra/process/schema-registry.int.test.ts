/** The schemas of public topics in a real registry. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import type { PublishedKind } from '../../../aggregator/extras/publish/publication.ts'
import { CandleRecordSchema, PoolRecordSchema, TickRecordSchema } from '../../../api/extras/topics/schemas.ts'
import { readConfig } from '../../../infra/config/config.ts'
import type { SchemaRegistry } from '../../../infra/config/publish-config.ts'
import { createRedactor } from '../../../infra/config/secrets.ts'
import type { LogFact } from '../../../infra/kafka/client/facts.ts'
import { registerSchemas } from '../../../infra/process/schema-registry.ts'
import { type RunningRegistry, startSchemaRegistry } from '../../support/schema-registry.ts'

const SCHEMAS = { pools: PoolRecordSchema, ticks: TickRecordSchema, candles: CandleRecordSchema }
const PUBLISHING = { PUBLISH: 'ticks', KAFKA_BROKERS: 'one:9092' }
const PASSWORD = 'of-the-registry'

function registryOf(environment: Record<string, string>): SchemaRegistry {
  const { publish } = readConfig({ ...PUBLISHING, ...environment })
  if (!publish?.registry) throw new Error('SCHEMA_REGISTRY_URL is set.')
  return publish.registry
}

const topicsOf = (prefix: string): ReadonlyMap<PublishedKind, string> =>
  new Map((Object.keys(SCHEMAS) as PublishedKind[]).map((kind) => [kind, `${prefix}.${kind}.ethereum`]))

describe('the registry of schemas', () => {
  let registry: RunningRegistry | undefined
  beforeAll(async () => {
    registry = await startSchemaRegistry()
  })
  afterAll(() => registry?.stop())

  async function latestOf(subject: string): Promise<{ schema: string; schemaType: string; version: number }> {
    const response = await fetch(`${registry?.url}/subjects/${subject}/versions/latest`)
    return (await response.json()) as { schema: string; schemaType: string; version: number }
  }

  test('has the schema of each topic, once, however often a process starts', async ({ skip }) => {
    if (!registry) return skip()
    const facts: LogFact[] = []
    const context = { report: (fact: LogFact) => facts.push(fact), signal: new AbortController().signal }
    const target = registryOf({ SCHEMA_REGISTRY_URL: `${registry.url}/` })
    for (const _ of [1, 2]) await registerSchemas(target, topicsOf('twice'), context)
    for (const [kind, schema] of Object.entries(SCHEMAS)) {
      const latest = await latestOf(`twice.${kind}.ethereum-value`)
      expect(latest).toMatchObject({ schemaType: 'JSON', version: 1 })
      expect(JSON.parse(latest.schema)).toEqual(z.toJSONSchema(schema))
    }
    expect(facts.map(({ kind }) => kind)).toEqual(Array(6).fill('schema-registered'))
  })

  test('is asked again where it is down or refuses the password, which no text shows', async ({ skip }) => {
    if (!registry) return skip()
    const answers = [503, 401, 401]
    const credentials: (string | undefined)[] = []
    const front = createServer(async (req, res) => {
      credentials.push(req.headers.authorization)
      const status = answers.shift()
      if (status !== undefined) return res.writeHead(status).end(`no ${PASSWORD}`)
      const init = {
        method: 'POST',
        body: JSON.stringify(await json(req)),
        headers: { 'Content-Type': 'application/json' },
      }
      const response = await fetch(`${registry?.url}${req.url}`, init)
      return res.writeHead(response.status).end(await response.text())
    })
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void front.close())
    const { port } = front.address() as AddressInfo
    const environment = { SCHEMA_REGISTRY_URL: `http://reader:${PASSWORD}@127.0.0.1:${port}` }
    const hide = createRedactor(readConfig({ ...PUBLISHING, ...environment }))
    const lines: string[] = []
    const report = (fact: LogFact) => lines.push(hide(JSON.stringify(fact)))
    const topics = new Map([['ticks', 'guarded.ticks.ethereum']] as const)
    await registerSchemas(registryOf(environment), topics, { report, signal: new AbortController().signal })
    expect(lines.map((line) => JSON.parse(line).kind)).toEqual([
      ...Array(3).fill('schema-not-registered'),
      'schema-registered',
    ])
    expect(lines[0]).toContain('SCHEMA_REGISTRY_URL answered 503')
    expect(lines.join()).not.toContain(PASSWORD)
    expect(new Set(credentials)).toEqual(new Set([`Basic ${Buffer.from(`reader:${PASSWORD}`).toString('base64')}`]))
    expect((await latestOf('guarded.ticks.ethereum-value')).version).toBe(1)
  })

  test('is an address of http, which needs PUBLISH', () => {
    expect(() => readConfig({ ...PUBLISHING, SCHEMA_REGISTRY_URL: 'registry:8081' })).toThrow(
      'SCHEMA_REGISTRY_URL is not an address that begins with http:// or https://',
    )
    expect(readConfig({ SCHEMA_REGISTRY_URL: 'http://registry:8081' }).publish).toBeUndefined()
  })
})
