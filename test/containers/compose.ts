/** The cluster of infra/compose.yaml on a real Docker engine, under a project name of its own. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const FOLDER = join(import.meta.dirname, '../../infra')
const EXAMPLE = join(import.meta.dirname, '../../infra/.env.example')

export type Container = {
  service: string
  running: boolean
  /** Absent where the container has no health check. */
  health?: string
  exitCode: number
  restarts: number
  readOnly: boolean
  memory: number
  /** Time of its first process, by this machine's clock; 0 where none runs. */
  pid: number
  publishedAt: string | undefined
}

export type Cluster = {
  /** Again with other settings: containers that they concern are recreated. */
  up(changed?: Record<string, string>): Promise<void>
  /** Output of a command, run in a container of its own. */
  run(service: string, command: readonly string[], env?: Record<string, string>): Promise<string>
  /** Whatever it printed so far. */
  logs(): Promise<string>
  /** By service. */
  containers(): Promise<Record<string, Container>>
  stop(): Promise<void>
  down(): Promise<void>
  /** Containers, volumes and networks that there still are. */
  remains(): Promise<string[]>
}

/** `more`: files of `infra` on top of `compose.yaml`. */
export function composeCluster(settings: Record<string, string>, more: readonly string[] = []): Cluster {
  const project = `candlepool-${randomBytes(4).toString('hex')}`
  // Neither infra/.env nor the shell of the tests has an effect, except for the images. In the example, all is empty.
  const { PATH, HOME, DOCKER_HOST, KAFKA_IMAGE, CLICKHOUSE_IMAGE, PROMETHEUS_IMAGE, CANDLEPOOL_IMAGE } = process.env
  const images = { KAFKA_IMAGE, CLICKHOUSE_IMAGE, PROMETHEUS_IMAGE, CANDLEPOOL_IMAGE }
  const env = { PATH, HOME, DOCKER_HOST, ...images, ...settings }
  const compose = async (...args: string[]) => {
    const [command, ...first] = await composeCommand()
    const files = ['compose.yaml', ...more].flatMap((file) => ['-f', join(FOLDER, file)])
    const all = [...first, '--env-file', EXAMPLE, ...files, '-p', project, ...args]
    return (await execute(command, all, { env, maxBuffer: 64 * 2 ** 20 })).stdout
  }
  const mine = ['--filter', `label=com.docker.compose.project=${project}`]
  return {
    async up(changed = {}) {
      Object.assign(env, changed)
      // A named image is not built.
      if (!CANDLEPOOL_IMAGE) await compose('build')
      await compose('up', '--detach', '--no-build')
    },
    run(service, command, own = {}) {
      const settings = Object.entries(own).flatMap(([name, value]) => ['-e', `${name}=${value}`])
      return compose('run', '--rm', '-T', ...settings, service, ...command)
    },
    logs: () => compose('logs', '--no-color'),
    async containers() {
      const ids = (await docker('ps', '--all', '--quiet', ...mine)).split('\n').filter((id) => id !== '')
      const inspected = JSON.parse(await docker('inspect', ...ids)) as Inspected[]
      return Object.fromEntries(inspected.map(containerOf).map((container) => [container.service, container]))
    },
    stop: async () => void (await compose('stop')),
    down: async () => void (await compose('down', '--volumes')),
    async remains() {
      const lists = [
        ['ps', '--all'],
        ['volume', 'ls'],
        ['network', 'ls'],
      ]
      const names = await Promise.all(lists.map((list) => docker(...list, '--quiet', ...mine)))
      return names.flatMap((text) => text.split('\n')).filter((name) => name !== '')
    },
  }
}

/** Where containers that ask for `host.docker.internal` arrive. */
export function hostGateway(): string {
  // Without Docker's bridge the engine is in a virtual machine of its own, which hands on to the loopback.
  return networkInterfaces()['docker0']?.find(({ family }) => family === 'IPv4')?.address ?? '127.0.0.1'
}

/** As the kernel has it: effective user and capabilities. */
export async function rightsOf({ pid }: Container): Promise<{ user: number; capabilities: bigint }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const [, user = '0'] = /^Uid:\s+\d+\s+(\d+)/m.exec(status) ?? []
  const [, capabilities = ''] = /^CapEff:\s+(\w+)/m.exec(status) ?? []
  return { user: Number(user), capabilities: BigInt(`0x${capabilities}`) }
}

type Inspected = {
  Config: { Labels: Record<string, string> }
  State: { Running: boolean; ExitCode: number; Pid: number; Health?: { Status: string } }
  RestartCount: number
  HostConfig: { ReadonlyRootfs: boolean; Memory: number }
  NetworkSettings: { Ports: Record<string, { HostIp: string; HostPort: string }[] | null> }
}

function containerOf({ Config, State, RestartCount, HostConfig, NetworkSettings }: Inspected): Container {
  const [published] = Object.values(NetworkSettings.Ports).flatMap((ports) => ports ?? [])
  return {
    service: Config.Labels['com.docker.compose.service'] ?? '',
    running: State.Running,
    ...(State.Health && { health: State.Health.Status }),
    exitCode: State.ExitCode,
    restarts: RestartCount,
    readOnly: HostConfig.ReadonlyRootfs,
    memory: HostConfig.Memory,
    pid: State.Pid,
    publishedAt: published && `http://${published.HostIp}:${published.HostPort}`,
  }
}

async function docker(...args: string[]): Promise<string> {
  return (await execute('docker', args, { maxBuffer: 64 * 2 ** 20 })).stdout
}

/** Docker's own, else the one that stands alone. */
async function composeCommand(): Promise<[string, ...string[]]> {
  const has = await docker('compose', 'version').catch(() => undefined)
  return has === undefined ? ['docker-compose'] : ['docker', 'compose']
}
