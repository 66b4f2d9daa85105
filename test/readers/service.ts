/** The whole service as production runs it: Kafka of three brokers, ClickHouse, an ingest, two aggregators and two API processes. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ClickHouseClient } from '@clickhouse/client'
import { connect } from '../../infra/clickhouse/client/client.ts'
import { type Engine, startEngine } from '../../infra/clickhouse/engine/engine.ts'
import { migrate } from '../../infra/clickhouse/migrate.ts'
import { type SlowProxy, startSlowProxy } from '../chaos/slow-proxy.ts'
import { type Running, run, type Script } from '../support/candlepool.ts'
import { freePorts } from '../support/free-ports.ts'
import { type Brokers, startBrokers } from '../support/kafka-brokers.ts'
import { type Clock, startClock } from './clock.ts'
import { GENESIS } from './forking-node.ts'
import { type Functions, reachedFunctions } from './reached.ts'

export const NETWORK = 'ethereum'
export const KEY = 'the-key-of-the-readers'

export const PROCESSES = ['ingest', 'aggregate-1', 'aggregate-2', 'api-1', 'api-2'] as const
export type ProcessName = (typeof PROCESSES)[number]

export type Service = {
  /** Addresses of the API processes. */
  urls: Readonly<Record<'api-1' | 'api-2', string>>
  /** Straight to the tables, past every proxy. */
  client: ClickHouseClient
  brokers: Brokers
  pidOf(name: ProcessName | 'engine'): number
  /** As a crash does: SIGKILL, and a new process in its place. */
  kill(name: ProcessName): Promise<void>
  killEngine(): Promise<void>
  /** The way of a process to ClickHouse. */
  wayOf(name: ProcessName): SlowProxy
  clockOf(name: ProcessName): Clock
  output(name: ProcessName): string
  /** In a soak; a process writes it every ten seconds, which slows it. */
  reached(): Promise<Functions>
  stop(): Promise<void>
}

const COVERAGE_PRELOAD = pathToFileURL(join(import.meta.dirname, 'coverage.mjs')).href

/** Blocks after the oldest one: the listener begins here. */
const START_OFFSET = 20

/** `root`: where the sources of the processes are, which may be mutated ones. */
export async function startService(rpcUrl: string, root?: string): Promise<Service> {
  const folder = await mkdtemp(join(tmpdir(), 'candlepool-readers-'))
  const coverage = join(folder, 'coverage')
  const [enginePort = 0, ...apiPorts] = await freePorts(3)
  const [brokers, firstEngine] = await Promise.all([
    startBrokers(),
    startEngine({ dataDir: join(folder, 'engine'), port: enginePort }),
  ])
  let engine: Engine = firstEngine
  const connection = { url: engine.url, ...engine.users.owner, database: 'readers' }
  const client = connect(connection)
  await migrate(client, connection)

  const ways = new Map<ProcessName, SlowProxy>()
  const clocks = new Map<ProcessName, Clock>()
  const running = new Map<ProcessName, Running>()
  const outputs = new Map<ProcessName, string>()

  async function start(name: ProcessName): Promise<void> {
    const way = ways.get(name) ?? (await startSlowProxy(enginePort))
    ways.set(name, way)
    const clock = clocks.get(name) ?? (await startClock(join(folder, `${name}.clock`)))
    clocks.set(name, clock)
    const isApi = name.startsWith('api')
    const environment = {
      NETWORKS: NETWORK,
      KAFKA_BROKERS: brokers.addresses.join(),
      CLICKHOUSE_URL: `http://127.0.0.1:${way.port}`,
      CLICKHOUSE_USER: connection.username,
      CLICKHOUSE_PASSWORD: connection.password,
      CLICKHOUSE_DATABASE: connection.database,
      ETHEREUM_RPC_URL: rpcUrl,
      ETHEREUM_START: String(GENESIS.oldest + START_OFFSET),
      BOOTSTRAP_API_KEY: KEY,
      PORT: isApi ? String(apiPorts[Number(name.slice(-1)) - 1]) : '0',
      ...clock.environment,
      NODE_OPTIONS: [clock.preload, COVERAGE_PRELOAD].map((module) => `--import ${module}`).join(' '),
      ...(process.env['SOAK_REPORT'] !== undefined && { NODE_V8_COVERAGE: coverage }),
    }
    running.set(name, run(name.replace(/-\d$/, '') as Script, environment, [], { root }))
  }

  await Promise.all(PROCESSES.map(start))
  return {
    urls: { 'api-1': `http://127.0.0.1:${apiPorts[0]}`, 'api-2': `http://127.0.0.1:${apiPorts[1]}` },
    client,
    brokers,
    pidOf: (name) => (name === 'engine' ? engine.pid : (running.get(name)?.pid ?? 0)),
    async kill(name) {
      const process = running.get(name)
      await process?.stop('SIGKILL')
      outputs.set(name, `${outputs.get(name) ?? ''}${process?.output() ?? ''}`)
      await start(name)
    },
    async killEngine() {
      process.kill(engine.pid, 'SIGKILL')
      await engine.exited
      engine = await startEngine({ dataDir: join(folder, 'engine'), port: enginePort })
    },
    wayOf: (name) => there(ways.get(name)),
    clockOf: (name) => there(clocks.get(name)),
    output: (name) => `${outputs.get(name) ?? ''}${running.get(name)?.output() ?? ''}`,
    reached: () => reachedFunctions(coverage, process.env['TEST_ENTRIES'] ?? ''),
    async stop() {
      await Promise.all([...running.values()].map((one) => one.stop('SIGKILL')))
      await Promise.all([...ways.values()].map((way) => way.stop()))
      await client.close()
      await Promise.all([engine.stop(), brokers.stop()])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function there<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('Every process has one.')
  return value
}
