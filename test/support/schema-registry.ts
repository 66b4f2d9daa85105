/** A schema registry with Confluent's API for tests: Apicurio Registry (Apache-2.0), which Maven fetches once for this machine. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from './free-ports.ts'
import { DIE_WITH_PARENT } from './kafka-jars.ts'
import { fetched, javaAtLeast } from './maven.ts'

const VERSION = '2.6.13.Final'
const ARTIFACT = `io.apicurio:apicurio-registry-app:${VERSION}:zip:all`
const START_TIMEOUT_MS = 60_000

export type RunningRegistry = { url: string; stop(): Promise<void> }

/** Undefined, with the reason printed, where none starts. */
export async function startSchemaRegistry(): Promise<RunningRegistry | undefined> {
  try {
    return await start()
  } catch (error) {
    console.log(`Schema registry: none, ${error instanceof Error ? error.message.split('\n')[0] : error}`)
    return undefined
  }
}

async function start(): Promise<RunningRegistry> {
  await javaAtLeast(11)
  const unpack = ['org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack', `-Dartifact=${ARTIFACT}`]
  const folder = await fetched(`apicurio-${VERSION}`, (into) => [
    ...unpack,
    `-DoutputDirectory=${into}`,
    `-DmarkersDirectory=${into}`,
  ])
  const [port = 0] = await freePorts(1)
  const jar = join(folder, `apicurio-registry-app-${VERSION}-runner.jar`)
  const java = ['java', '-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
  const command = [...java, '-Dquarkus.http.host=127.0.0.1', `-Dquarkus.http.port=${port}`, '-jar', jar]
  const child = spawn('sh', ['-c', DIE_WITH_PARENT, 'sh', ...command], { stdio: ['pipe', 'ignore', 'ignore'] })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const stop = async () => {
    child.stdin?.end()
    await exited
  }
  const url = `http://127.0.0.1:${port}/apis/ccompat/v7`
  const deadline = Date.now() + START_TIMEOUT_MS
  while (
    !(await fetch(`${url}/subjects`).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop()
      throw new Error('it did not start')
    }
    await sleep(100)
  }
  return { url, stop }
}
