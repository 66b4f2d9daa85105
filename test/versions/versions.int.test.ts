/** The backup, the topic and the API document of each released version, with the sources of today: the answers are the same. */
import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../infra/clickhouse/client/client.ts'
import { findEngine } from '../../infra/clickhouse/engine/engine-access.ts'
import { kafkaClient } from '../e2e/cluster.ts'
import { type Running, run, type Script, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { freshDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { kafkaOrSkip, makeTopic } from '../support/kafka.ts'
import { drawn } from '../support/sample.ts'
import { breakingChanges } from './breaking-changes.ts'
import {
  type Answers,
  answersOf,
  BACKUP_NAME,
  savedJson,
  startSource,
  stepsAfter,
  TOPIC,
  type TopicRecord,
  unpackBackup,
  VERSIONS_FOLDER,
} from './version-fixture.ts'

type OpenApi = { paths: Record<string, Record<string, { parameters: unknown[]; responses: Record<string, unknown> }>> }

const { skip, brokers } = kafkaOrSkip()

const versions = drawn('versions', readdirSync(VERSIONS_FOLDER), 1)

describe.skipIf(withoutClickHouse).each(versions)('version %s', (version) => {
  let source: Awaited<ReturnType<typeof startSource>>
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let main: Running | undefined

  beforeAll(async () => {
    source = await startSource()
  })
  afterEach(async () => {
    await main?.stop()
    main = undefined
    await folder?.remove()
  })
  afterAll(() => source?.rpc.stop())

  async function settings(more: Record<string, string> = {}): Promise<Record<string, string>> {
    folder = await temporaryFolder()
    return { ...source.environment, DATA_DIR: folder.path, ...more }
  }

  async function expectAnswersOf(environment: Record<string, string>): Promise<void> {
    main = run('start', environment)
    const api = await untilReady(main)
    const saved = await savedJson<Answers>(version, 'answers.json')
    // A later version may add fields to an answer. A topic may still be read.
    await expect.poll(() => answersOf(api), { interval: 1_000 }).toMatchObject(saved)
  }

  async function command(environment: Record<string, string>, script: Script, ...args: string[]): Promise<void> {
    const running = run(script, environment, args)
    expect({ code: await running.exited, output: running.output() }).toMatchObject({ code: 0 })
  }

  const expectVerified = (environment: Record<string, string>) =>
    command(environment, 'verify', '--network', 'ethereum')

  test('a backup is restored, and answers the same', async () => {
    const environment = await settings()
    await unpackBackup(version, folder.path)
    await command(environment, 'restore', BACKUP_NAME)
    for (const [script, ...args] of await stepsAfter(version)) await command(environment, script, ...args)
    // Exits with 2 where nothing is stored.
    await expectVerified(environment)
    await expectAnswersOf(environment)
    await expectNewColumns(folder.path)
  })

  test.skipIf(skip)('a topic is read, and answers the same', async () => {
    const prefix = `test-${randomUUID()}.`
    const records = await savedJson<TopicRecord[]>(version, 'topic.json')
    await produce(`${prefix}${TOPIC}`, records)
    const environment = await settings({ KAFKA_BROKERS: brokers.join(), KAFKA_TOPIC_PREFIX: prefix })
    await expectAnswersOf(environment)
    await expectVerified(environment)
    expect(await countOf(`${prefix}${TOPIC}`)).toBe(records.length)
  })

  test('the API document holds for the service of today', async () => {
    main = run('start', await settings())
    const { url } = await untilReady(main)
    const answer = await fetch(`${url}/v0/openapi.json`)
    const today = (await answer.json()) as OpenApi
    expect(breakingChanges(await savedJson<OpenApi>(version, 'openapi.json'), today)).toEqual([])
  })
})

describe('a change of the API document', () => {
  const version = readdirSync(VERSIONS_FOLDER).at(-1) ?? ''
  const candles = (document: OpenApi) => document.paths['/v0/candles']?.['get']

  test.each<[string, (document: OpenApi) => void, RegExp]>([
    ['a path', (document) => delete document.paths['/v0/ticks'], /^GET \/v0\/ticks is gone$/],
    ['a parameter', (document) => candles(document)?.parameters.splice(0, 1), /^GET \/v0\/candles: query \w+ is gone$/],
    ['a status', (document) => delete candles(document)?.responses['404'], /^GET \/v0\/candles: no 404$/],
    ['a field', (document) => withoutField(document, 'close'), /^GET \/v0\/candles 200.*\.close is gone$/],
  ])('the removal of %s is found', async (_, change, line) => {
    const document = await savedJson<OpenApi>(version, 'openapi.json')
    const changed = structuredClone(document)
    change(changed)
    expect(breakingChanges(document, changed)).toContainEqual(expect.stringMatching(line))
    expect(breakingChanges(document, document)).toEqual([])
  })
})

/** Wherever it is a property. */
function withoutField(value: unknown, field: string): void {
  if (typeof value !== 'object' || value === null) return
  const { properties } = value as { properties?: Record<string, unknown> }
  if (properties) delete properties[field]
  for (const one of Object.values(value)) withoutField(one, field)
}

/** Each table has the columns that it has in a new database. */
async function expectNewColumns(dataDir: string): Promise<void> {
  const [engine, db] = [await findEngine(join(dataDir, 'store')), await freshDatabase()]
  if (!engine) throw new Error('It runs an engine.')
  const restored = connect({ url: engine.url, database: engine.database, ...engine.users.owner })
  const query = `SELECT table, name, position, type, default_kind, default_expression, compression_codec FROM system.columns
    WHERE database = currentDatabase() ORDER BY table, position`
  const columns = async (client: ClickHouseClient) => (await client.query({ query, format: 'JSONEachRow' })).json()
  expect(await columns(restored)).toEqual(await columns(db.client))
  await restored.close()
  await db.drop()
}

async function produce(topic: string, records: readonly TopicRecord[]): Promise<void> {
  const kafka = kafkaClient(brokers)
  const [admin, producer] = [kafka.admin(), kafka.producer()]
  await Promise.all([admin.connect(), producer.connect()])
  await makeTopic(admin, { topic, numPartitions: 1 })
  const bytes = (text: string | null) => (text === null ? null : Buffer.from(text, 'base64'))
  await producer.send({
    topic,
    messages: records.map(({ key, value, headers }) => ({ key: bytes(key), value: bytes(value), headers })),
  })
  await Promise.all([admin.disconnect(), producer.disconnect()])
}

async function countOf(topic: string): Promise<number> {
  const admin = kafkaClient(brokers).admin()
  await admin.connect()
  const [{ high } = { high: '0' }] = await admin.fetchTopicOffsets(topic)
  await admin.disconnect()
  return Number(high)
}
