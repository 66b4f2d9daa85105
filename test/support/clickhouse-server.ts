/** A real ClickHouse for tests: the one that is named, else a container, else the embedded engine. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEngine } from '../../infra/clickhouse/engine.ts'

/** What `servers.ts` provides under `clickhouse`. */
export type ProvidedClickHouse =
  | { url: string; username: string; password: string; what: string }
  | { unavailable: string }
export type StartedClickHouse = Exclude<ProvidedClickHouse, { unavailable: string }> & { stop(): Promise<void> }

declare module 'vitest' {
  interface ProvidedContext {
    clickhouse: ProvidedClickHouse
  }
}

/** Prints one line on what it found. */
export async function startClickHouse(): Promise<StartedClickHouse | { unavailable: string }> {
  const started = await firstThatWorks()
  console.log('unavailable' in started ? `ClickHouse: none, ${started.unavailable}` : `ClickHouse: ${started.what}`)
  return started
}

async function firstThatWorks(): Promise<StartedClickHouse | { unavailable: string }> {
  const { CLICKHOUSE_URL: url, CLICKHOUSE_USER: username = 'default', CLICKHOUSE_PASSWORD: password = '' } = process.env
  // A server that is named is never replaced by another one: its tests would then have run on something else.
  if (url) return { url, username, password, what: `CLICKHOUSE_URL=${new URL(url).host}`, stop: async () => {} }
  const reasons: string[] = []
  for (const start of [startContainer, startEmbedded]) {
    try {
      return await start()
    } catch (error) {
      reasons.push((error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '')
    }
  }
  return { unavailable: reasons.join('; ') }
}

async function startEmbedded(): Promise<StartedClickHouse> {
  const dataDir = await mkdtemp(join(tmpdir(), 'candlepool-clickhouse-'))
  const remove = () => rm(dataDir, { recursive: true, force: true })
  const engine = await startEngine({ dataDir }).catch(async (error) => {
    await remove()
    throw error
  })
  async function stop() {
    await engine.stop()
    await remove()
  }
  return { url: engine.url, ...engine.users.owner, what: `the embedded engine at ${engine.url}`, stop }
}

const DEFAULT_IMAGE = 'clickhouse/clickhouse-server:25.8'
const DOCKER_TIMEOUT_MS = 5_000
const CONTAINER_TIMEOUT_MS = 60_000

async function startContainer(): Promise<StartedClickHouse> {
  // Loaded here, since it takes half a second and is mostly not needed.
  const { GenericContainer, getContainerRuntimeClient, Wait } = await import('testcontainers')
  await within(DOCKER_TIMEOUT_MS, getContainerRuntimeClient(), 'no Docker engine answers')
  const image = process.env['CLICKHOUSE_IMAGE'] ?? DEFAULT_IMAGE
  const user = { username: 'owner', password: randomBytes(12).toString('hex') }
  const starting = new GenericContainer(image)
    .withExposedPorts(8123)
    .withEnvironment({
      CLICKHOUSE_USER: user.username,
      CLICKHOUSE_PASSWORD: user.password,
      CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT: '1',
    })
    .withWaitStrategy(Wait.forHttp('/ping', 8123))
    .withStartupTimeout(CONTAINER_TIMEOUT_MS)
    .start()
  const late = `the Docker engine did not start ${image} within ${CONTAINER_TIMEOUT_MS / 1000} s`
  const container = await within(CONTAINER_TIMEOUT_MS, starting, late).catch((error: unknown) => {
    // A pull can't be called off; what it starts later must not stay.
    starting.then((started) => started.stop()).catch(() => {})
    throw error
  })
  const url = `http://${container.getHost()}:${container.getMappedPort(8123)}`
  const stop = async () => {
    await container.stop()
  }
  return { url, ...user, what: `${image} in a container at ${url}`, stop }
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
