/** A network of a cluster in a test: its log in Kafka, its tables, and those who work on them, all gone when the test is over. */
import type { ClickHouseClient } from '@clickhouse/client'
import kafkajs, { Kafka } from 'kafkajs'
import { expect, type TestContext } from 'vitest'
import { watchJobs } from '../../aggregator/jobs/open-jobs.ts'
import { storedChain } from '../../aggregator/ledger/stored-blocks.ts'
import type { ClickHouseConnection } from '../../infra/clickhouse/client/client.ts'
import { readConfig } from '../../infra/config/config.ts'
import { singleOwnerAssignor } from '../../infra/kafka/group/single-owner-assignor.ts'
import { type KafkaLog, kafkaBackfillLog, kafkaLog } from '../../infra/kafka/kafka.ts'
import { resolveDeployment } from '../../infra/process/deployment.ts'
import { runAggregator } from '../../infra/process/stages/stages.ts'
import type { Fact } from '../../infra/telemetry/fact.ts'
import { openReadiness } from '../../infra/telemetry/readiness.ts'
import type { Message } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { networkOf, startAggregator } from '../aggregator/running.ts'
import { MARKET_TABLES, tablesOf } from '../aggregator/tables.ts'
import { type Running, run, type Script } from '../support/candlepool.ts'
import { asBlocks, type Chain } from '../support/chain.ts'
import type { TestDatabase } from '../support/clickhouse.ts'
import { until } from '../support/until.ts'

/** Tests run side by side, so that each cleans up for itself. */
export type Context = Pick<TestContext, 'onTestFinished'>

export type Surroundings = { brokers: readonly string[]; database: TestDatabase }

export type Aggregating = {
  facts: Fact[]
  untilReported(kind: Fact['kind'], count?: number): Promise<true>
  stop(): Promise<void>
}

export type ClusterNetwork = {
  log: KafkaLog
  /** Appends what a listener says of these blocks. */
  tell(blocks: Chain): Promise<void>
  /** Until the last block of the chain is the stored tip. */
  untilTip(chain: Chain): Promise<void>
  /** `npm run …`; may reach ClickHouse at another address than its own. */
  startProcess(script: Script, more?: Record<string, string>): Running
  /** Runs what `npm run aggregate` runs, in this process. */
  aggregate(owner?: ClickHouseClient): Promise<Aggregating>
  /** Takes the topic away from its reader, until it is given back. */
  takeTopic(): Promise<() => Promise<void>>
  /** Epochs of stored candles, and epochs that were acquired. */
  epochs(): Promise<{ shown: number[]; owners: number[] }>
  /** Everything is stored as by an aggregator that was told this chain and nothing else: as single blocks where `tell` is absent. */
  expectCleanRun(chain: Chain, tell?: (network: NetworkName, blocks: Chain) => Message[]): Promise<void>
}

export function kafkaClient(brokers: readonly string[]): Kafka {
  return new Kafka({ brokers: [...brokers], logLevel: kafkajs.logLevel.NOTHING })
}

export async function openNetwork(
  { onTestFinished }: Context,
  { brokers, database }: Surroundings,
  network: NetworkName,
): Promise<ClusterNetwork> {
  const log = await kafkaLog({ brokers, network, report: () => {} })
  onTestFinished(() => log.close())
  const stored = storedChain(database.client, network)

  return {
    log,
    tell: (blocks) => log.append(asBlocks(network, blocks)),
    async untilTip(chain) {
      const wanted = chain.at(-1)
      const look = async () => ((await stored.tip())?.hash === wanted?.hash ? true : undefined)
      await until(look, `${network} has stored block ${wanted?.number}`)
    },
    startProcess(script, more = {}) {
      const running = run(script, { ...environment(network, brokers, database.connection), ...more })
      onTestFinished(async () => {
        await running.stop('SIGKILL')
      })
      return running
    },
    async aggregate(owner = database.client) {
      const facts: Fact[] = []
      const report = (fact: Fact) => facts.push(fact)
      const stopping = new AbortController()
      const options = { brokers, network, report, sessionTimeoutMs: 6_000 }
      const [stream, history] = await Promise.all([kafkaLog(options), kafkaBackfillLog(options)])
      const close = async () => {
        await Promise.all([stream.close(), history.close()])
      }
      const store = {
        owner,
        ownerAccess: database.connection,
        reader: owner,
        accounts: owner,
        analyst: owner,
        shards: [owner],
        ...watchJobs(owner),
        servers: [owner],
        failed: new Promise<never>(() => {}),
        close,
      }
      // The name of a network may be made up here, where there is no configuration to read it from.
      const config = readConfig(environment('ethereum', brokers, database.connection))
      const parts = { config, deployment: resolveDeployment(config), readiness: openReadiness((text) => text) }
      const run = { ...parts, report, signal: stopping.signal, fail: () => {} }
      const ended = runAggregator(network, { stream, backfillLog: history, close }, store, run)
      ended.catch(() => undefined)
      const stop = async () => {
        stopping.abort()
        await close()
        await ended
      }
      onTestFinished(stop)
      const untilReported = (kind: Fact['kind'], count = 1) => {
        const look = async () => (facts.filter((fact) => fact.kind === kind).length >= count ? true : undefined)
        return until<true>(look, `${kind} is reported`)
      }
      return { facts, untilReported, stop }
    },
    async takeTopic() {
      const rival = kafkaClient(brokers).consumer({
        groupId: `candlepool.aggregator.${network}`,
        partitionAssigners: [singleOwnerAssignor({ since: Date.now() + 60_000 })],
        maxWaitTimeInMs: 50,
      })
      await rival.connect()
      await rival.subscribe({ topic: `blocks.${network}` })
      const joined = new Promise((resolve) => rival.on(rival.events.GROUP_JOIN, resolve))
      await rival.run({ eachBatch: async () => {} })
      await joined
      return () => rival.disconnect()
    },
    async epochs() {
      const ask = async (query: string) => {
        const answer = await database.client.query({ query, query_params: { network }, format: 'JSONEachRow' })
        return (await answer.json<{ epoch: number }>()).map(({ epoch }) => epoch)
      }
      const shown = `SELECT DISTINCT toUInt32(bitShiftRight(version, 64)) AS epoch FROM candles FINAL
        WHERE network = {network:String} ORDER BY epoch`
      const owners = `SELECT toUInt32(owners.epoch) AS epoch FROM owners FINAL
        WHERE network = {network:String} ORDER BY owners.epoch`
      return { shown: await ask(shown), owners: await ask(owners) }
    },
    async expectCleanRun(chain, tell = asBlocks) {
      const clean = networkOf(`${network} in a clean run`)
      const aggregator = await startAggregator(database.client, { network: clean })
      await aggregator.append(tell(clean, chain))
      await aggregator.stop()
      const tables = await tablesOf(database.client)
      for (const table of MARKET_TABLES) expect(tables(network)[table], table).toStrictEqual(tables(clean)[table])
    },
  }
}

function environment(
  network: NetworkName,
  brokers: readonly string[],
  { url, username, password, database }: ClickHouseConnection,
): Record<string, string> {
  return {
    NETWORKS: network,
    KAFKA_BROKERS: brokers.join(),
    CLICKHOUSE_URL: url,
    CLICKHOUSE_USER: username,
    CLICKHOUSE_PASSWORD: password,
    CLICKHOUSE_DATABASE: database,
  }
}
