/** A real Apache Kafka for tests: the one that is named, else Apache's own jars; in `npm run test:containers` a container. */
import type { Admin, ITopicConfig } from 'kafkajs'
import { inject } from 'vitest'
import { inContainers, startImage } from './containers.ts'
import { freePorts } from './free-ports.ts'
import { KAFKA_VERSION, startJarBroker } from './kafka-jars.ts'
import { until } from './until.ts'

export type StartedKafka = { brokers: string[]; what: string; stop(): Promise<void> }
/** Provided by `servers.ts` under `kafka`. */
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

/** Makes a topic, and resolves once its leaders are known: kafkajs does not wait for a broker that does not know the topic yet. */
export async function makeTopic(admin: Admin, topic: ITopicConfig): Promise<void> {
  await admin.createTopics({ waitForLeaders: false, topics: [topic] })
  const hasLeaders = async () => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic.topic] })
    return topics[0]?.partitions.every(({ leader }) => leader >= 0)
  }
  await until(async () => (await hasLeaders().catch(() => false)) || undefined, `${topic.topic} has leaders`)
}

const DEFAULT_IMAGE = `apache/kafka:${KAFKA_VERSION}`

/** Prints one line on what it found. */
export async function startKafka(): Promise<StartedKafka | { unavailable: string }> {
  const started = await start()
  console.log('unavailable' in started ? `Kafka: none, ${started.unavailable}` : `Kafka: ${started.what}`)
  return started
}

async function start(): Promise<StartedKafka | { unavailable: string }> {
  const named = process.env['KAFKA_BROKERS']
  if (named) return { brokers: named.split(','), what: `KAFKA_BROKERS=${named}`, stop: async () => {} }
  // One that can't start is an error: its tests would have run on something else.
  if (inContainers) return startContainer()
  return startJars().catch((error: Error) => ({ unavailable: error.message.split('\n')[0] ?? '' }))
}

async function startJars(): Promise<StartedKafka> {
  const { brokers, stop } = await startJarBroker()
  return { brokers, what: `Apache Kafka ${KAFKA_VERSION} from its jars at ${brokers.join()}`, stop }
}

/** Brokers say where they are to be reached, so the port must be known before the container starts. */
async function startContainer(): Promise<StartedKafka> {
  // Loaded here, since it takes half a second and is mostly not needed.
  const { GenericContainer, getContainerRuntimeClient, Wait } = await import('testcontainers')
  const { host } = (await getContainerRuntimeClient()).info.containerRuntime
  const image = process.env['KAFKA_IMAGE'] ?? DEFAULT_IMAGE
  const [port = 0] = await freePorts(1)
  const described = new GenericContainer(image)
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
      KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
      KAFKA_HEAP_OPTS: '-Xmx512m',
    })
    .withWaitStrategy(Wait.forListeningPorts())
  const container = await startImage(image, described)
  const stop = async () => {
    await container.stop()
  }
  return { brokers: [`${host}:${port}`], what: `${image} in a container at ${host}:${port}`, stop }
}
