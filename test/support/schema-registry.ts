/** A schema registry with Confluent's API for tests: Apicurio Registry (Apache-2.0), which Maven fetches once for this machine. */
import { join } from 'node:path'
import { freePorts } from './free-ports.ts'
import { startJava } from './java.ts'
import { fetched, javaAtLeast } from './maven.ts'

const VERSION = '2.6.13.Final'
const ARTIFACT = `io.apicurio:apicurio-registry-app:${VERSION}:zip:all`

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
  const url = `http://127.0.0.1:${port}/apis/ccompat/v7`
  const isReady = () =>
    fetch(`${url}/subjects`).then(
      ({ ok }) => ok,
      () => false,
    )
  const args = ['-Dquarkus.http.host=127.0.0.1', `-Dquarkus.http.port=${port}`, '-jar', jar]
  const { kill } = await startJava('Apicurio Registry', args, isReady)
  return { url, stop: kill }
}
