/** One KRaft node from Apache Kafka's own jars, which Maven fetches once for this machine. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePorts } from './free-ports.ts'
import { type JavaProcess, startJava } from './java.ts'
import { fetchedJars, javaAtLeast } from './maven.ts'

const run = promisify(execFile)

export const KAFKA_VERSION = '4.1.1'

/** The newest of each other line that is in use, oldest first. */
export const NEWEST_OF_LINES = ['3.9.2', '4.0.1', '4.4.0'] as const

export type JarBroker = {
  brokers: string[]
  cluster: { id: string; controllerPort: number }
  /** Ends the process as a power cut would. */
  kill(): Promise<void>
  /** Starts it again on the same port with the same data. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** A cluster of its own, or the second broker, number 2, of another one. Rejects with one line that says what is missing. */
export async function startJarBroker(first?: JarBroker, version = KAFKA_VERSION): Promise<JarBroker> {
  await javaAtLeast(17)
  const classpath = join(await fetchedKafka(version), '*')
  // A free port may be taken by the time the broker opens it.
  for (let tries = 2; tries > 0; tries--) {
    const broker = await startOnce(classpath, first).catch(() => undefined)
    if (broker) return broker
  }
  return startOnce(classpath, first)
}

/** For a file of tests that can't share one; undefined, with the reason printed, where none starts. */
export async function startOwnBroker(version?: string): Promise<JarBroker | undefined> {
  try {
    return await startJarBroker(undefined, version)
  } catch (error) {
    console.log(`Kafka of its own: none, ${error instanceof Error ? error.message : error}`)
    return undefined
  }
}

async function startOnce(classpath: string, first: JarBroker | undefined): Promise<JarBroker> {
  const data = await mkdtemp(join(tmpdir(), 'candlepool-kafka-'))
  const [port = 0, ownControllerPort = 0] = await freePorts(2)
  const properties = join(data, 'server.properties')
  const cluster = first?.cluster ?? {
    id: newClusterId(),
    controllerPort: ownControllerPort,
  }
  const settings = serverProperties(port, cluster.controllerPort, join(data, 'log'))
  if (first) Object.assign(settings, { 'process.roles': 'broker', 'node.id': 2, listeners: plaintext(port) })
  await writeFile(properties, toProperties(settings))
  await run('java', ['-cp', classpath, 'kafka.tools.StorageTool', 'format', '-t', cluster.id, '-c', properties])

  let broker = await startProcess(classpath, properties, port)
  return {
    brokers: [`127.0.0.1:${port}`],
    cluster,
    kill: () => broker.kill(),
    async restart() {
      broker = await startProcess(classpath, properties, port)
    },
    async stop() {
      await broker.kill()
      await rm(data, { recursive: true, force: true })
    },
  }
}

export function startProcess(classpath: string, properties: string, port: number): Promise<JavaProcess> {
  return startJava('Kafka', ['-cp', classpath, 'kafka.Kafka', properties], () => answers(port))
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

const plaintext = (port: number) => `PLAINTEXT://127.0.0.1:${port}`

export function serverProperties(port: number, controllerPort: number, logDirectory: string): Record<string, unknown> {
  return {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: `${plaintext(port)},CONTROLLER://127.0.0.1:${controllerPort}`,
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': logDirectory,
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 1,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': 1,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,
    'group.initial.rebalance.delay.ms': 0,
    // After a kill the broker may register again once its former self has timed out.
    'broker.heartbeat.interval.ms': 200,
    'broker.session.timeout.ms': 1000,
    'auto.create.topics.enable': false,
  }
}

export function toProperties(properties: Record<string, unknown>): string {
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

/** The folder of the jars. */
export function fetchedKafka(version = KAFKA_VERSION): Promise<string> {
  return fetchedJars(`kafka-${version}`, join(import.meta.dirname, 'pom.xml'), [`-Dkafka.version=${version}`])
}

/** 16 random bytes as Kafka writes them. Its tool takes an id that begins with a hyphen for an option. */
export function newClusterId(): string {
  const id = Buffer.from(crypto.randomUUID().replaceAll('-', ''), 'hex').toString('base64url')
  return id.replace(/^-/, 'A')
}
