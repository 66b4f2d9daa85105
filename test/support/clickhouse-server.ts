/** A real ClickHouse for tests: the one that is named, else the embedded engine; in `npm run test:containers` a container. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEngine } from '../../infra/clickhouse/engine/engine.ts'
import { inContainers, startImage } from './containers.ts'
import { readTemplate, type Template } from './template.ts'

/** Provided by `servers.ts` under `clickhouse`. */
export type ProvidedClickHouse =
  | { url: string; username: string; password: string; what: string; template: Template }
  | { unavailable: string }
export type StartedClickHouse = Exclude<ProvidedClickHouse, { unavailable: string }> & { stop(): Promise<void> }
type Server = Omit<StartedClickHouse, 'template'>

declare module 'vitest' {
  interface ProvidedContext {
    clickhouse: ProvidedClickHouse
  }
}

/** Prints one line on what it found. */
export async function startClickHouse(): Promise<StartedClickHouse | { unavailable: string }> {
  const started = await start()
  console.log('unavailable' in started ? `ClickHouse: none, ${started.unavailable}` : `ClickHouse: ${started.what}`)
  if ('unavailable' in started) return started
  const template = await readTemplate(started).catch(async (error: unknown) => {
    await started.stop()
    throw error
  })
  return { ...started, template }
}

async function start(): Promise<Server | { unavailable: string }> {
  const { CLICKHOUSE_URL: url, CLICKHOUSE_USER: username = 'default', CLICKHOUSE_PASSWORD: password = '' } = process.env
  // A server that is named is never replaced by another one: its tests would then have run on something else.
  if (url) return { url, username, password, what: `CLICKHOUSE_URL=${new URL(url).host}`, stop: async () => {} }
  // A container that can't start is an error, for the same reason.
  if (inContainers) return startContainer()
  return startEmbedded().catch((error: Error) => ({ unavailable: error.message.split('\n')[0] ?? '' }))
}

async function startEmbedded(): Promise<Server> {
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

/** A server of the version of the embedded engine. */
const DEFAULT_IMAGE = 'clickhouse/clickhouse-server:26.7'

async function startContainer(): Promise<Server> {
  // Loaded here, since it takes half a second and is mostly not needed.
  const { GenericContainer, Wait } = await import('testcontainers')
  const image = process.env['CLICKHOUSE_IMAGE'] ?? DEFAULT_IMAGE
  const user = { username: 'owner', password: randomBytes(12).toString('hex') }
  const described = new GenericContainer(image)
    .withExposedPorts(8123)
    .withEnvironment({
      CLICKHOUSE_USER: user.username,
      CLICKHOUSE_PASSWORD: user.password,
      CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT: '1',
    })
    .withWaitStrategy(Wait.forHttp('/ping', 8123))
  const container = await startImage(image, described)
  const url = `http://${container.getHost()}:${container.getMappedPort(8123)}`
  const stop = async () => {
    await container.stop()
  }
  return { url, ...user, what: `${image} in a container at ${url}`, stop }
}
