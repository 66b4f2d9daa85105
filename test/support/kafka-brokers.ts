/** Three brokers from Apache's jars, each of which is a controller as well: any one of them may die. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePorts } from './free-ports.ts'
import type { JavaProcess } from './java.ts'
import { fetchedKafka, newClusterId, serverProperties, startProcess, toProperties } from './kafka-jars.ts'
import { javaAtLeast } from './maven.ts'

const run = promisify(execFile)
const SIZE = 3

export type Broker = {
  /** The Java program's process. */
  pid(): Promise<number>
  kill(): Promise<void>
  /** On the same port, with the same data. */
  restart(): Promise<void>
}

export type Brokers = { addresses: string[]; nodes: readonly Broker[]; stop(): Promise<void> }

/** Resolves once all of them answer. Rejects with one line that says what is missing. */
export async function startBrokers(): Promise<Brokers> {
  await javaAtLeast(17)
  const classpath = join(await fetchedKafka(), '*')
  const folder = await mkdtemp(join(tmpdir(), 'candlepool-brokers-'))
  const ports = await freePorts(2 * SIZE)
  const places = Array.from({ length: SIZE }, (_, index) => ({
    id: index + 1,
    port: ports[2 * index] ?? 0,
    controllerPort: ports[2 * index + 1] ?? 0,
    properties: join(folder, `node-${index + 1}.properties`),
  }))
  const voters = places.map(({ id, controllerPort }) => `${id}@127.0.0.1:${controllerPort}`).join()
  const cluster = newClusterId()
  for (const { id, port, controllerPort, properties } of places) {
    const settings = {
      ...serverProperties(port, controllerPort, join(folder, `node-${id}`)),
      'node.id': id,
      'controller.quorum.voters': voters,
      'offsets.topic.replication.factor': SIZE,
      'transaction.state.log.replication.factor': SIZE,
      'transaction.state.log.min.isr': 2,
      'broker.session.timeout.ms': 6_000,
    }
    await writeFile(properties, toProperties(settings))
    await run('java', ['-cp', classpath, 'kafka.tools.StorageTool', 'format', '-t', cluster, '-c', properties])
  }
  const begin = ({ properties, port }: (typeof places)[number]) => startProcess(classpath, properties, port)
  const running: JavaProcess[] = await Promise.all(places.map(begin))
  return {
    addresses: places.map(({ port }) => `127.0.0.1:${port}`),
    nodes: places.map((place, index) => ({
      async pid() {
        const { stdout } = await run('pgrep', ['-f', `kafka.Kafka ${place.properties}`])
        return Math.max(...stdout.trim().split('\n').map(Number))
      },
      kill: async () => running[index]?.kill(),
      async restart() {
        running[index] = await begin(place)
      },
    })),
    async stop() {
      await Promise.all(running.map((one) => one.kill()))
      await rm(folder, { recursive: true, force: true })
    },
  }
}
