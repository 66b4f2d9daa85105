/** Listener, aggregator and API over Kafka, replaced one after the other by those of another version, while they are read and their chain grows. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { type Running, run, type Script } from '../support/candlepool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { freePorts } from '../support/free-ports.ts'
import { kafkaOrSkip } from '../support/kafka.ts'
import { inSoak } from '../support/sample.ts'
import { cleanRun } from './embedded.ts'
import { startFollowers } from './followers.ts'
import { print, startLoad, type UpgradeLoad } from './load.ts'
import {
  command,
  expectRows,
  expectServed,
  FOLLOWED,
  type GrowingChain,
  KEY,
  marketOf,
  PATHS,
  startGrowingChain,
  untilStored,
} from './scene.ts'
import { firstTree, nextTree, type Upgrade } from './trees.ts'

const STEADY_MS = 15_000
/** A proxy that takes an address off its list lets its requests end. */
const DRAIN_MS = 2_000
const { skip: withoutKafka, brokers } = kafkaOrSkip()
const first = inSoak.skip ? undefined : await firstTree()
const next = inSoak.skip ? undefined : await nextTree()

type Environment = Record<string, string>

describe.skipIf(withoutClickHouse || withoutKafka || inSoak.skip)('processes over Kafka', () => {
  afterAll(async () => {
    await first?.remove()
    await next?.remove()
  })

  test.skipIf(!first)('are upgraded from the first version to this one, and back', () =>
    upgrade('the first version to this one', { from: first?.root, to: undefined, isRebuilt: true }),
  )

  test('are upgraded from this version to a later one, and back', () =>
    upgrade('this version to a later one', { from: undefined, to: next?.root, isRebuilt: false }))
})

async function upgrade(title: string, versions: Upgrade): Promise<void> {
  const { to } = versions
  const chain = await startGrowingChain()
  const db = await freshDatabase()
  const name = `upgraded_${randomBytes(6).toString('hex')}`
  const load = startLoad(KEY, PATHS, chain.head)
  const followers = startFollowers(KEY, FOLLOWED, load.asked)
  const processes = new Set<Running>()
  const start = (root: string | undefined, script: Script, environment: Environment): Running => {
    const process = run(script, environment, [], { root })
    processes.add(process)
    return process
  }
  try {
    const environment = environmentOf(chain, db, name)
    await roll(versions, { environment, load, chain, start, backup: name })
    const opened = await followers.untilAnswered(load.asked() ?? '')
    const log = await load.stop()
    print(`Three processes over Kafka, ${title}; ${FOLLOWED.length} streams, opened ${opened} times`, log)
    await command(to, environment, 'verify', '--network', 'ethereum')
    const client = db.connect({ database: name })
    await untilStored(client, chain.head())
    const upgraded = await marketOf(client)
    for (const process of processes) await process.stop('SIGTERM')
    expectServed(log, [])
    expect(upgraded).toEqual(await cleanRun(to, chain))
    await wayBack(versions.from, { environment, chain, db, start, backup: name })
  } catch (error) {
    print(`Three processes over Kafka, ${title}, until it failed`, await load.stop())
    for (const process of processes) console.log(process.output())
    throw error
  } finally {
    followers.stop()
    for (const process of processes) await process.stop('SIGKILL')
    await chain.stop()
    for (const database of [name, `${name}_back`])
      await db.client.command({ query: `DROP DATABASE IF EXISTS ${database} SYNC` })
    await db.drop()
  }
}

type Place = {
  environment: Environment
  chain: GrowingChain
  start(root: string | undefined, script: Script, environment: Environment): Running
  backup: string
}

function environmentOf(chain: GrowingChain, { connection }: TestDatabase, name: string): Environment {
  return {
    ...chain.environment,
    KAFKA_BROKERS: brokers.join(),
    KAFKA_TOPIC_PREFIX: `${name}.`,
    CLICKHOUSE_URL: connection.url,
    CLICKHOUSE_USER: connection.username,
    CLICKHOUSE_PASSWORD: connection.password,
    CLICKHOUSE_DATABASE: name,
  }
}

/** The order of infra/docs/releases.md. */
async function roll(
  { from, to, isRebuilt }: Upgrade,
  { environment, load, chain, start, backup }: Place & { load: UpgradeLoad },
): Promise<void> {
  const [oldPort, newPort] = await freePorts(2)
  const [oldUrl, newUrl] = [oldPort, newPort].map((port) => `http://127.0.0.1:${port}`) as [string, string]
  const listener = start(from, 'ingest', environment)
  const aggregator = start(from, 'aggregate', environment)
  const api = start(from, 'api', { ...environment, PORT: String(oldPort) })
  await load.untilAtHead(oldUrl)
  load.ask([oldUrl])
  await sleep(STEADY_MS)
  load.step('backup')
  await command(from, environment, 'backup', backup)
  load.step('aggregator')
  await aggregator.stop('SIGTERM')
  await start(to, 'aggregate', environment).untilPrinted(/"kind":"aggregator-started"/)
  await load.untilAtHead(oldUrl)
  load.step('api')
  await start(to, 'api', { ...environment, PORT: String(newPort) }).untilPrinted(/"kind":"server-listening"/)
  load.ask([newUrl, oldUrl])
  await sleep(DRAIN_MS)
  load.ask([newUrl])
  await sleep(DRAIN_MS)
  await api.stop('SIGTERM')
  load.step('listener')
  await start(to, 'ingest', environment).untilPrinted(/"kind":"resumed"/)
  await listener.stop('SIGTERM')
  load.step('after')
  await sleep(STEADY_MS)
  if (isRebuilt) {
    load.step('rebuild')
    await command(to, environment, 'rebuild', '--network', 'ethereum')
    await sleep(STEADY_MS)
  }
  chain.end()
  await load.untilAtHead(newUrl)
}

/** The backup from before, with the version that made it, beside what the later one has left in Kafka. */
async function wayBack(
  root: string | undefined,
  { environment, chain, db, start, backup }: Place & { db: TestDatabase },
): Promise<void> {
  const database = `${backup}_back`
  const [port] = await freePorts(1)
  const restored = { ...environment, CLICKHOUSE_DATABASE: database, PORT: String(port) }
  await command(root, restored, 'restore', backup)
  for (const script of ['ingest', 'aggregate'] as const) start(root, script, restored)
  await start(root, 'api', restored).untilPrinted(/"kind":"server-listening"/)
  await untilStored(db.connect({ database }), chain.head())
  await expectRows(`http://127.0.0.1:${port}`)
}
