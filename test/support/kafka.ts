/** A real Apache Kafka for tests: the one that is named, else a container, else Apache's own jars. */
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { inject } from 'vitest'
import { KAFKA_VERSION, startJarBroker } from './kafka-jars.ts'

export type StartedKafka = { brokers: string[]; what: string; stop(): Promise<void> }
/** What `servers.ts` provides under `kafka`. */
export type ProvidedKafka = { brokers: string[]; what: string } | { unavailable: string }

declare module 'vitest' {
  interface ProvidedContext {
    kafka: ProvidedKafka
  }
}

/** The broker of this run; `describe.skipIf('unavailable' in kafka)` says so where there is none. */
export function kafkaForTests(): ProvidedKafka {
  return inject('kafka')
}

/** For `describe.skipIf`, and the brokers where it runs. */
export function kafkaOrSkip(): { skip: boolean; brokers: string[] } {
  const kafka = kafkaForTests()
  return 'unavailable' in kafka ? { skip: true, brokers: [] } : { skip: false, brokers: kafka.brokers }
}

const DEFAULT_IMAGE = `apache/kafka:${KAFKA_VERSION}`
const ENGINE_TIMEOUT_MS = 5000
const CONTAINER_TIMEOUT_MS = 60_000

/** Prints one line on what it found. */
export async function startKafka(): Promise<StartedKafka | { unavailable: string }> {
  const started = await firstThatWorks()
  console.log('unavailable' in started ? `Kafka: none, ${started.unavailable}` : `Kafka: ${started.what}`)
  return started
}

async function firstThatWorks(): Promise<StartedKafka | { unavailable: string }> {
  const named = process.env['KAFKA_BROKERS']
  if (named) return { brokers: named.split(','), what: `KAFKA_BROKERS=${named}`, stop: async () => {} }
  const reasons: string[] = []
  for (const start of [startContainer, startJars]) {
    try {
      return await start()
    } catch (error) {
      reasons.push((error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '')
    }
  }
  return { unavailable: reasons.join('; ') }
}

async function startJars(): Promise<StartedKafka> {
  const { brokers, stop } = await startJarBroker()
  return { brokers, what: `Apache Kafka ${KAFKA_VERSION} from its jars at ${brokers.join()}`, stop }
}

/** Brokers say where they are to be reached, so the port must be known before the container starts. */
async function startContainer(): Promise<StartedKafka> {
  // Loaded here, since it takes half a second and is mostly not needed.
  const { GenericContainer, getContainerRuntimeClient, Wait } = await import('testcontainers')
  const engine = await within(ENGINE_TIMEOUT_MS, getContainerRuntimeClient(), 'no Docker engine answers')
  const { host } = engine.info.containerRuntime
  const image = process.env['KAFKA_IMAGE'] ?? DEFAULT_IMAGE
  const port = await freePort()
  const starting = new GenericContainer(image)
    .withExposedPorts({ container: 9092, host: port })
    .withEnvironment({
      KAFKA_NODE_ID: '1',
      KAFKA_PROCESS_ROLES: 'broker,controller',
      KAFKA_LISTENERS: 'PLAINTEXT://:9092,CONTROLLER://:9093',
      KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://${host}:${port}`,
      KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
      KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
      KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
      KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
      KAFKA_HEAP_OPTS: '-Xmx512m',
    })
    .withWaitStrategy(Wait.forListeningPorts())
    .withStartupTimeout(CONTAINER_TIMEOUT_MS)
    .start()
  const late = `the Docker engine did not start ${image} within ${CONTAINER_TIMEOUT_MS / 1000} s`
  const container = await within(CONTAINER_TIMEOUT_MS, starting, late).catch((error: unknown) => {
    // A pull can't be called off; what it starts later must not stay.
    starting.then((started) => started.stop()).catch(() => {})
    throw error
  })
  const stop = async () => {
    await container.stop()
  }
  return { brokers: [`${host}:${port}`], what: `${image} in a container at ${host}:${port}`, stop }
}

async function within<T>(milliseconds: number, work: Promise<T>, otherwise: string): Promise<T> {
  const stop = new AbortController()
  const late = sleep(milliseconds, undefined, { signal: stop.signal }).then(() => {
    throw new Error(otherwise)
  })
  late.catch(() => {})
  try {
    return await Promise.race([work, late])
  } finally {
    stop.abort()
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
