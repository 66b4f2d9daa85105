/** What goes wrong in a cluster, with a real broker, real tables and, where processes die or sleep, real processes. Each case is a network. */
import kafkajs, { Kafka } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest'
import { storedChain } from '../../aggregator/ledger.ts'
import { readConfig } from '../../infra/config.ts'
import { encode } from '../../infra/log/codec.ts'
import { type KafkaLog, kafkaHistory, kafkaLog } from '../../infra/log/kafka.ts'
import { soleMember } from '../../infra/log/sole-member.ts'
import { runAggregator } from '../../infra/stages.ts'
import type { Fact } from '../../infra/telemetry.ts'
import type { NetworkName } from '../../ingest/network.ts'
import { networkOf, startAggregator } from '../aggregator/running.ts'
import { watched } from '../aggregator/statements.ts'
import { MARKET_TABLES, tablesOf } from '../aggregator/tables.ts'
import { type Running, run, temporaryFolder, until } from '../support/candlepool.ts'
import { asBlocks, type Chain, fullBlocks, mine } from '../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { type Gate, startGate } from '../support/gate.ts'
import { type JarBroker, startJarBroker } from '../support/kafka-jars.ts'

const PLANS = fullBlocks(30, 5)
/** Ten blocks, then ten of a branch that is left, or ten and ten more of the one that stays. */
const TRUNK = mine([], PLANS.slice(0, 10))
const LEFT = mine(TRUNK, PLANS.slice(10, 20), 'left')
const STAYS = mine(mine(TRUNK.slice(0, 8), PLANS.slice(10, 20), 'stays'), PLANS.slice(20, 30), 'stays')

let broker: JarBroker
let database: TestDatabase

beforeAll(async () => {
  if (withoutClickHouse) return
  ;[broker, database] = await Promise.all([startJarBroker(), freshDatabase()])
}, 120_000)

afterAll(async () => {
  await database?.drop()
  await broker?.stop()
})

/** Tests run side by side, so that each cleans up for itself. */
type Context = Pick<TestContext, 'onTestFinished'>

/** Appends what a listener would say. */
async function openTeller({ onTestFinished }: Context, network: NetworkName): Promise<KafkaLog> {
  const log = await kafkaLog({ brokers: broker.brokers, network, report: () => {} })
  onTestFinished(() => log.close())
  return log
}

function tell(log: KafkaLog, network: NetworkName, blocks: Chain): Promise<void> {
  return log.append(asBlocks(network, blocks))
}

async function untilTip(network: NetworkName, chain: Chain): Promise<void> {
  const stored = storedChain(database.client, network)
  const wanted = chain.at(-1)
  await until(
    async () => ((await stored.tip())?.hash === wanted?.hash ? true : undefined),
    `${network} has stored block ${wanted?.number}`,
  )
}

async function expectCleanRun(network: NetworkName, chain: Chain): Promise<void> {
  const clean = networkOf(`${network} in a clean run`)
  const aggregator = await startAggregator(database.client, { network: clean })
  await aggregator.append(asBlocks(clean, chain))
  await aggregator.stop()
  const tables = await tablesOf(database.client)
  for (const table of MARKET_TABLES) expect(tables(network)[table], table).toStrictEqual(tables(clean)[table])
}

/** The epochs in which the candles of a network are shown, and those in which somebody took charge. */
async function epochsOf(network: NetworkName): Promise<{ shown: number[]; owners: number[] }> {
  const ask = async (query: string) => {
    const answer = await database.client.query({ query, query_params: { network }, format: 'JSONEachRow' })
    return (await answer.json<{ epoch: number }>()).map(({ epoch }) => epoch)
  }
  return {
    shown: await ask(
      `SELECT DISTINCT toUInt32(bitShiftRight(version, 64)) AS epoch FROM candles FINAL
       WHERE network = {network:String} ORDER BY epoch`,
    ),
    owners: await ask(
      'SELECT toUInt32(epoch) AS epoch FROM owners FINAL WHERE network = {network:String} ORDER BY owners.epoch',
    ),
  }
}

function environment(network: NetworkName, clickhouse: string, dataDir: string): Record<string, string> {
  const { username, password } = database.connection
  return {
    NETWORKS: network,
    KAFKA_BROKERS: broker.brokers.join(),
    CLICKHOUSE_URL: clickhouse,
    CLICKHOUSE_USER: username,
    CLICKHOUSE_PASSWORD: password,
    CLICKHOUSE_DATABASE: database.database,
    DATA_DIR: dataDir,
  }
}

/** `npm run aggregate`, on tables that it reaches directly, or through a gate. */
async function startProcess(
  { onTestFinished }: Context,
  network: NetworkName,
  clickhouse = database.connection.url,
): Promise<Running> {
  const folder = await temporaryFolder()
  const running = run('aggregate', environment(network, clickhouse, folder.path))
  onTestFinished(async () => {
    await running.stop('SIGKILL')
    await folder.remove()
  })
  return running
}

async function openGate({ onTestFinished }: Context): Promise<Gate> {
  const gate = await startGate(database.connection.url)
  onTestFinished(gate.stop)
  return gate
}

type Cluster = { facts: Fact[]; stop(): Promise<void> }

/** What `npm run aggregate` runs, in this process. */
async function startCluster(
  { onTestFinished }: Context,
  network: NetworkName,
  owner = database.client,
): Promise<Cluster> {
  const facts: Fact[] = []
  const report = (fact: Fact) => facts.push(fact)
  const stopping = new AbortController()
  const options = { brokers: broker.brokers, network, report, sessionTimeoutMs: 6_000 }
  const [stream, history] = await Promise.all([kafkaLog(options), kafkaHistory(options)])
  const close = async () => {
    await Promise.all([stream.close(), history.close()])
  }
  const store = { owner, reader: owner, accounts: owner, failed: new Promise<never>(() => {}), close: async () => {} }
  const config = readConfig(environment('ethereum', database.connection.url, '/nowhere'))
  const signal = stopping.signal
  const ended = runAggregator(network, { stream, history, close }, store, { config, report, signal, fail: () => {} })
  ended.catch(() => undefined)
  const stop = async () => {
    stopping.abort()
    await close()
    await ended
  }
  onTestFinished(stop)
  return { facts, stop }
}

function untilReported(facts: readonly Fact[], kind: Fact['kind'], count = 1): Promise<true> {
  const look = async () => (facts.filter((fact) => fact.kind === kind).length >= count ? (true as const) : undefined)
  return until(look, `${kind} is reported`)
}

function kafka(): Kafka {
  return new Kafka({ brokers: broker.brokers, logLevel: kafkajs.logLevel.NOTHING })
}

/** Takes the topic away from whoever reads it, until it is given back. */
async function takeTopic(network: NetworkName): Promise<() => Promise<void>> {
  const rival = kafka().consumer({
    groupId: `candlepool.aggregator.${network}`,
    partitionAssigners: [soleMember({ since: Date.now() + 60_000 })],
    maxWaitTimeInMs: 50,
  })
  await rival.connect()
  await rival.subscribe({ topic: `blocks.${network}` })
  const joined = new Promise((resolve) => rival.on(rival.events.GROUP_JOIN, resolve))
  await rival.run({ eachBatch: async () => {} })
  await joined
  return () => rival.disconnect()
}

describe.skipIf(withoutClickHouse)('in a cluster', () => {
  test.concurrent('kill -9 of the owner: a standby takes over', async (context) => {
    const network = 'ethereum'
    const log = await openTeller(context, network)
    const owner = await startProcess(context, network)
    await owner.untilPrinted(/aggregator started/)
    const standby = await startProcess(context, network)
    await standby.untilPrinted(/log standing by/)
    await tell(log, network, TRUNK)
    await untilTip(network, TRUNK)
    await tell(log, network, LEFT.slice(TRUNK.length))
    await owner.stop('SIGKILL')
    await tell(log, network, STAYS.slice(8))
    await untilTip(network, STAYS)
    expect((await epochsOf(network)).owners).toStrictEqual([1, 2])
    await expectCleanRun(network, STAYS)
  })

  test.concurrent('an owner that sleeps with statements on their way, and wakes up behind its successor, changes nothing', async (context) => {
    const network = 'arbitrum'
    const log = await openTeller(context, network)
    const gate = await openGate(context)
    const sleeper = await startProcess(context, network, gate.url)
    await sleeper.untilPrinted(/aggregator started/)
    await tell(log, network, TRUNK)
    await untilTip(network, TRUNK)
    const held = gate.shut(/INSERT INTO (candles|blocks)/)
    await tell(log, network, LEFT.slice(TRUNK.length))
    await held
    process.kill(sleeper.pid, 'SIGSTOP')

    const successor = await startProcess(context, network)
    await untilTip(network, LEFT)
    await tell(log, network, STAYS.slice(8))
    await untilTip(network, STAYS)
    gate.open()
    process.kill(sleeper.pid, 'SIGCONT')
    await sleeper.untilPrinted(/stage restarted/)
    await sleeper.untilPrinted(/log standing by/)
    const { shown, owners } = await epochsOf(network)
    expect(owners).toStrictEqual([1, 2])
    expect(shown.at(-1)).toBe(2)
    await expectCleanRun(network, STAYS)
    expect(await successor.stop()).toBe(0)
  })

  test.concurrent('an owner that sleeps before it is confirmed never writes', async (context) => {
    const network = 'polygon'
    const log = await openTeller(context, network)
    const gate = await openGate(context)
    const held = gate.shut(/INSERT INTO owners/)
    const sleeper = await startProcess(context, network, gate.url)
    await held
    process.kill(sleeper.pid, 'SIGSTOP')
    await startProcess(context, network)
    await tell(log, network, STAYS)
    await untilTip(network, STAYS)
    // Both have found the same epoch to be free.
    gate.open()
    process.kill(sleeper.pid, 'SIGCONT')
    await sleeper.untilPrinted(/log standing by/)
    expect(sleeper.output()).toMatch(/stage restarted/)
    expect(sleeper.output()).not.toMatch(/aggregator started/)
    await expectCleanRun(network, STAYS)
  })

  test.concurrent('a message that is none, one that is broken and one that no table can hold stop nothing', async (context) => {
    const network = networkOf('rubbish')
    const log = await openTeller(context, network)
    const cluster = await startCluster(context, network)
    const producer = kafka().producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
    await producer.connect()
    context.onTestFinished(() => producer.disconnect())
    const append = (value: string) => producer.send({ topic: `blocks.${network}`, messages: [{ value }] })

    await tell(log, network, TRUNK.slice(0, 5))
    await append('rubbish')
    await tell(log, network, TRUNK.slice(5))
    await untilTip(network, TRUNK)

    const [broken, unstorable] = asBlocks(network, STAYS.slice(10, 12)).map((message) => encode(message).toString())
    await tell(log, network, STAYS.slice(8, 10))
    await append(broken?.slice(0, -9) ?? '')
    await append(unstorable?.replaceAll('"amount0":[', '"amount0":["0xf') ?? '')
    await tell(log, network, STAYS.slice(12))
    await append('rubbish')
    await untilReported(cluster.facts, 'stalled')
    // Whoever looks where the log ends finds the last message of it.
    expect((await log.last())?.message.hash).toBe(STAYS.at(-1)?.hash)
    // The stored tip stands still, and so the listener begins again behind it.
    await tell(log, network, STAYS.slice(10))
    await untilTip(network, STAYS)
    const rejected = cluster.facts.filter(({ kind }) => kind === 'message-rejected')
    expect(rejected).toMatchObject([{ offset: 5 }, { offset: 13 }, { offset: 14 }, { offset: 31 }])
    await expectCleanRun(network, STAYS)

    // Where it goes on after a restart is found behind rubbish, too.
    await append('rubbish')
    await cluster.stop()
    const again = await startCluster(context, network)
    await untilReported(again.facts, 'aggregator-started')
    expect(again.facts.find(({ kind }) => kind === 'aggregator-started')).toMatchObject({ generation: 0, epoch: 2n })
    await expectCleanRun(network, STAYS)
  })

  test.concurrent('a group that rebalances while its owner flushes', async (context) => {
    const network = networkOf('rebalanced')
    let waits: Promise<void> = Promise.resolve()
    let goOn = () => {}
    const log = await openTeller(context, network)
    const owner = await startCluster(
      context,
      network,
      watched(database.client, () => waits),
    )
    await tell(log, network, TRUNK)
    await untilTip(network, TRUNK)
    waits = new Promise((resolve) => {
      goOn = resolve
    })
    await tell(log, network, LEFT.slice(TRUNK.length))
    // It keeps the topic when others come and go, and goes on with what it has in hand when it loses it.
    const standby = await startCluster(context, network)
    await untilReported(standby.facts, 'log-standing-by')
    await standby.stop()
    const giveBack = await takeTopic(network)
    await tell(log, network, STAYS.slice(8))
    goOn()
    await untilReported(owner.facts, 'stage-restarted')
    await giveBack()
    await untilTip(network, STAYS)
    await expectCleanRun(network, STAYS)
  })

  test.concurrent('a topic that is deleted and made anew while the chain takes another branch', async (context) => {
    const network = networkOf('recreated')
    const log = await openTeller(context, network)
    const cluster = await startCluster(context, network)
    await tell(log, network, LEFT)
    await untilTip(network, LEFT)
    const admin = kafka().admin()
    await admin.connect()
    await admin.deleteTopics({ topics: [`blocks.${network}`] })
    await admin.disconnect()
    await tell(log, network, STAYS.slice(8, 12))
    await untilReported(cluster.facts, 'aggregator-started', 2)
    await tell(log, network, STAYS.slice(12))
    await untilTip(network, STAYS)
    expect(cluster.facts.filter(({ kind }) => kind === 'aggregator-started')).toMatchObject([
      { generation: 0 },
      { generation: 1 },
    ])
    await expectCleanRun(network, STAYS)
  })
})
