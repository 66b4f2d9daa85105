/** Faults of a cluster, with a real broker, real tables and, where processes die or sleep, real processes. Each case is a network. */
import kafkajs from 'kafkajs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storedChain } from '../../aggregator/ledger/stored-blocks.ts'
import { encode } from '../../infra/kafka/wire/encode.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { networkOf, startAggregator } from '../aggregator/running.ts'
import { watched } from '../aggregator/statements.ts'
import { asBlocks, fullBlocks, mine } from '../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { startGate } from '../support/gate.ts'
import { makeTopic } from '../support/kafka.ts'
import { type JarBroker, startJarBroker, startOwnBroker } from '../support/kafka-jars.ts'
import { openPipeline } from '../support/pipeline.ts'
import { DAY } from '../support/recorded.ts'
import { startRecordedDay } from '../support/recorded-day.ts'
import { MARKET_TABLES, rowsOf } from '../support/rows.ts'
import { inSoak } from '../support/sample.ts'
import { readiness, scrape, sum } from '../support/scrape.ts'
import { until } from '../support/until.ts'
import { type ClusterNetwork, type Context, kafkaClient, openNetwork } from './cluster.ts'

const PLANS = fullBlocks(30, 5)
/** Ten blocks, then ten of a branch that is left, or ten and ten more of the one that stays. */
const TRUNK = mine([], PLANS.slice(0, 10))
const LEFT = mine(TRUNK, PLANS.slice(10, 20), 'left')
const STAYS = mine(mine(TRUNK.slice(0, 8), PLANS.slice(10, 20), 'stays'), PLANS.slice(20, 30), 'stays')

/** A broker of our own, since it is killed; without Java there is none. */
const started = withoutClickHouse ? undefined : await startOwnBroker()
let broker: JarBroker
let database: TestDatabase

beforeAll(async () => {
  if (!started) return
  broker = started
  database = await freshDatabase()
})

afterAll(async () => {
  await database?.drop()
  await started?.stop()
})

function open(context: Context, network: NetworkName, tables = database): Promise<ClusterNetwork> {
  return openNetwork(context, { brokers: broker.brokers, database: tables }, network)
}

// A broker waits 15 s before it gives a process up.
describe.skipIf(!started)('in a cluster', () => {
  test.concurrent('kill -9 of the owner: a standby takes over', async (context) => {
    const network = 'base'
    const { tell, untilTip, startProcess, epochs, expectCleanRun } = await open(context, network)
    const owner = startProcess('aggregate')
    await owner.untilPrinted(/aggregator started/)
    const standby = startProcess('aggregate', { ADMIN_PORT: '0' })
    await standby.untilPrinted(/log standing by/)
    const [, port = ''] = await standby.untilPrinted(/"port":(\d+),"msg":"admin listening/)
    const waiting = { status: 'standing by', reasons: [], standingBy: [network] }
    expect(await readiness(Number(port))).toEqual({ status: 200, body: waiting })
    const isReading = async () =>
      sum((await scrape(Number(port))).samples, 'candlepool_log_reading', { topic: `blocks.${network}` })
    expect(await isReading()).toBe(0)
    await tell(TRUNK)
    await untilTip(TRUNK)
    await tell(LEFT.slice(TRUNK.length))
    await owner.stop('SIGKILL')
    await tell(STAYS.slice(8))
    await untilTip(STAYS)
    expect(await isReading()).toBe(1)
    expect((await readiness(Number(port))).body.standingBy).toEqual([])
    expect((await epochs()).owners).toStrictEqual([1, 2])
    await expectCleanRun(STAYS)
  })

  test.concurrent('an owner that sleeps with statements on their way, and wakes up behind its successor, changes nothing', async (context) => {
    const network = 'arbitrum'
    const { tell, untilTip, startProcess, epochs, expectCleanRun } = await open(context, network)
    const gate = await startGate(database.connection.url)
    context.onTestFinished(gate.stop)
    const sleeper = startProcess('aggregate', { CLICKHOUSE_URL: gate.url })
    await sleeper.untilPrinted(/aggregator started/)
    await tell(TRUNK)
    await untilTip(TRUNK)
    const held = gate.shut(/INSERT INTO (candles|blocks)/)
    await tell(LEFT.slice(TRUNK.length))
    await held
    process.kill(sleeper.pid, 'SIGSTOP')

    const successor = startProcess('aggregate')
    await untilTip(LEFT)
    await tell(STAYS.slice(8))
    await untilTip(STAYS)
    gate.open()
    process.kill(sleeper.pid, 'SIGCONT')
    await sleeper.untilPrinted(/stage restarted/)
    await sleeper.untilPrinted(/log standing by/)
    const { shown, owners } = await epochs()
    expect(owners).toStrictEqual([1, 2])
    expect(shown.at(-1)).toBe(2)
    await expectCleanRun(STAYS)
    expect(await successor.stop()).toBe(0)
  })

  test.concurrent('an owner that sleeps before it is confirmed never writes', inSoak, async (context) => {
    const network = 'polygon'
    const { tell, untilTip, startProcess, expectCleanRun } = await open(context, network)
    const gate = await startGate(database.connection.url)
    context.onTestFinished(gate.stop)
    const held = gate.shut(/INSERT INTO owners/)
    const sleeper = startProcess('aggregate', { CLICKHOUSE_URL: gate.url })
    await held
    process.kill(sleeper.pid, 'SIGSTOP')
    startProcess('aggregate')
    await tell(STAYS)
    await untilTip(STAYS)
    // Both have found the same epoch to be free.
    gate.open()
    process.kill(sleeper.pid, 'SIGCONT')
    await sleeper.untilPrinted(/log standing by/)
    expect(sleeper.output()).toMatch(/stage restarted/)
    expect(sleeper.output()).not.toMatch(/aggregator started/)
    await expectCleanRun(STAYS)
  })

  test.concurrent('a message that is none, one that is broken and one that no table can hold stop nothing', async (context) => {
    const network = networkOf('rubbish')
    const { log, tell, untilTip, aggregate, expectCleanRun } = await open(context, network)
    const cluster = await aggregate()
    const producer = kafkaClient(broker.brokers).producer({
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    })
    await producer.connect()
    context.onTestFinished(() => producer.disconnect())
    const append = (value: string) => producer.send({ topic: `blocks.${network}`, messages: [{ value }] })

    await tell(TRUNK.slice(0, 5))
    await append('rubbish')
    await tell(TRUNK.slice(5))
    await untilTip(TRUNK)

    const [broken, unstorable] = asBlocks(network, STAYS.slice(10, 12)).map((message) => encode(message).toString())
    await tell(STAYS.slice(8, 10))
    await append(broken?.slice(0, -9) ?? '')
    await append(unstorable?.replaceAll('"amount0":[', '"amount0":["0xf') ?? '')
    await tell(STAYS.slice(12))
    await append('rubbish')
    await cluster.untilReported('stalled')
    // A search for the end of the log finds its last message.
    expect((await log.last())?.message.hash).toBe(STAYS.at(-1)?.hash)
    // The stored tip stands still, and so the listener begins again behind it.
    await tell(STAYS.slice(10))
    await untilTip(STAYS)
    const rejected = cluster.facts.filter(({ kind }) => kind === 'message-rejected')
    expect(rejected).toMatchObject([{ offset: 5 }, { offset: 13 }, { offset: 14 }, { offset: 31 }])
    await expectCleanRun(STAYS)

    // The place to resume at is found behind invalid records too.
    await append('rubbish')
    await cluster.stop()
    const again = await aggregate()
    await again.untilReported('aggregator-started')
    expect(again.facts.find(({ kind }) => kind === 'aggregator-started')).toMatchObject({ generation: 0, epoch: 2n })
    await expectCleanRun(STAYS)
  })

  test.concurrent('a group that rebalances while its owner flushes', inSoak, async (context) => {
    const network = networkOf('rebalanced')
    let waits: Promise<void> = Promise.resolve()
    let goOn = () => {}
    const { tell, untilTip, aggregate, takeTopic, expectCleanRun } = await open(context, network)
    const owner = await aggregate(watched(database.client, () => waits))
    await tell(TRUNK)
    await untilTip(TRUNK)
    waits = new Promise((resolve) => {
      goOn = resolve
    })
    await tell(LEFT.slice(TRUNK.length))
    // It keeps the topic when other members come and go, and finishes the batch in hand when it loses it.
    const standby = await aggregate()
    await standby.untilReported('log-standing-by')
    await standby.stop()
    const giveBack = await takeTopic()
    await tell(STAYS.slice(8))
    goOn()
    await owner.untilReported('stage-restarted')
    await giveBack()
    await untilTip(STAYS)
    await expectCleanRun(STAYS)
  })

  test.concurrent(
    'topic recreated: deleted and created again while the chain takes another branch',
    inSoak,
    async (context) => {
      const network = networkOf('recreated')
      const { tell, untilTip, aggregate, expectCleanRun } = await open(context, network)
      const cluster = await aggregate()
      await tell(LEFT)
      await untilTip(LEFT)
      const admin = kafkaClient(broker.brokers).admin()
      await admin.connect()
      await admin.deleteTopics({ topics: [`blocks.${network}`] })
      await admin.disconnect()
      await tell(STAYS.slice(8, 12))
      await cluster.untilReported('aggregator-started', 2)
      await tell(STAYS.slice(12))
      await untilTip(STAYS)
      expect(cluster.facts.filter(({ kind }) => kind === 'aggregator-started')).toMatchObject([
        { generation: 0 },
        { generation: 1 },
      ])
      await expectCleanRun(STAYS)
    },
  )

  test.concurrent('tables that go from one process to a cluster, and back', inSoak, async (context) => {
    const network = networkOf('there-and-back')
    const { tell, untilTip, aggregate, epochs, expectCleanRun } = await open(context, network)
    const before = await startAggregator(database.client, { network })
    await before.append(asBlocks(network, TRUNK))
    await before.stop()
    const cluster = await aggregate()
    await tell(STAYS.slice(8, 18))
    await untilTip(STAYS.slice(0, 18))
    await cluster.stop()
    const after = await startAggregator(database.client, { network })
    await after.append(asBlocks(network, STAYS.slice(18)))
    await after.stop()
    expect((await epochs()).owners).toStrictEqual([1, 2, 3])
    await expectCleanRun(STAYS)
  })

  test.concurrent('two listeners during a deployment', inSoak, async (context) => {
    const finalized = DAY.lastBlock - 120
    const firstBlock = finalized - 100
    const [rpc, deployed, clean] = await Promise.all([
      startRecordedDay({ finalized }),
      freshDatabase(),
      freshDatabase(),
    ])
    rpc.chain.head = finalized + 20
    context.onTestFinished(async () => {
      await Promise.all([rpc.stop(), deployed.drop(), clean.drop()])
    })
    const { startProcess, aggregate } = await open(context, 'ethereum', deployed)
    await aggregate()
    const stored = storedChain(deployed.client, 'ethereum')
    const untilHead = () =>
      until(async () => ((await stored.tip())?.number === rpc.chain.head ? true : undefined), 'the head is stored')
    const chain = { ETHEREUM_RPC_URL: rpc.url, ETHEREUM_START: String(firstBlock) }
    const old = startProcess('ingest', chain)
    await untilHead()
    const fresh = startProcess('ingest', chain)
    await fresh.untilPrinted(/resumed/)
    for (const step of [7, 1, 12]) {
      rpc.chain.head += step
      await untilHead()
    }
    rpc.chain.head = DAY.lastBlock - 30
    await old.stop('SIGTERM')
    rpc.chain.head = DAY.lastBlock
    await untilHead()

    const pipeline = await openPipeline({
      network: NETWORKS.ethereum,
      url: rpc.url,
      database: clean,
      firstBlock,
      headerProof: 'off',
    })
    await pipeline.untilStored({ number: DAY.lastBlock, hash: (await stored.tip())?.hash ?? '0x' })
    await pipeline.stop()
    for (const table of MARKET_TABLES) {
      expect({ table, rows: await rowsOf(deployed.client, table) }).toEqual({
        table,
        rows: await rowsOf(clean.client, table),
      })
    }
  })

  test('a broker that is restarted while it is appended to and read', inSoak, async (context) => {
    const network = networkOf('restarted')
    const { tell, untilTip, aggregate, expectCleanRun } = await open(context, network)
    const cluster = await aggregate()
    await tell(TRUNK)
    await untilTip(TRUNK)
    const appending = (async () => {
      for (const block of [...LEFT.slice(TRUNK.length), ...STAYS.slice(8)]) await tell([block])
    })()
    await broker.kill()
    await broker.restart()
    await appending
    await untilTip(STAYS)
    expect(cluster.facts.map(({ kind }) => kind)).toContain('kafka-client')
    await expectCleanRun(STAYS)
  })

  test('a leader that is killed, so that the other broker leads', inSoak, async (context) => {
    const network = networkOf('moved')
    const second = await startJarBroker(broker)
    context.onTestFinished(() => second.stop())
    const admin = kafkaClient(broker.brokers).admin()
    await admin.connect()
    context.onTestFinished(() => admin.disconnect())
    const topic = `blocks.${network}`
    const replicaAssignment = [{ partition: 0, replicas: [2, 1] }]
    await makeTopic(admin, { topic, replicaAssignment })
    const leader = async () => (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0]?.partitions[0]?.leader
    expect(await leader()).toBe(2)
    const { tell, untilTip, aggregate, expectCleanRun } = await open(context, network)
    await aggregate()
    await tell(TRUNK)
    await untilTip(TRUNK)
    const appending = (async () => {
      for (const block of [...LEFT.slice(TRUNK.length), ...STAYS.slice(8)]) await tell([block])
    })()
    await second.kill()
    await appending
    expect(await leader()).toBe(1)
    await untilTip(STAYS)
    await expectCleanRun(STAYS)
  })
})
