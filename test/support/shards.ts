/** Several embedded engines as one ClickHouse cluster, each a shard of it. */

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import { connect } from '../../infra/clickhouse/client/client.ts'
import { shardDatabaseOf } from '../../infra/clickhouse/cluster.ts'
import { type Engine, type EngineFact, startEngine } from '../../infra/clickhouse/engine/engine.ts'
import type { EngineAccess } from '../../infra/clickhouse/engine/engine-access.ts'
import { ensurePasswords, makeFolders } from '../../infra/clickhouse/engine/engine-access.ts'
import { enginePaths } from '../../infra/clickhouse/engine/engine-config.ts'
import type { ServerConfig } from '../../infra/config/server-config.ts'
import { temporaryFolder } from './candlepool.ts'
import { freePorts } from './free-ports.ts'
import { startProxy } from './proxy.ts'

export type Shards = {
  /** As `readConfig` gives it. */
  config: ServerConfig
  environment: Record<string, string>
  /** Address of the first one, for other servers. */
  address: string
  /** A client of each server's share of a database, closed with the servers. */
  sharesOf(database: string): ClickHouseClient[]
  /** `kill -9`. */
  kill(index: number): Promise<void>
  /** On its folder and ports. */
  restart(index: number): Promise<void>
  stop(): Promise<void>
}

const CLUSTER = 'market'
/** One user for all shards: that is what a cluster's clients know. */
const USERNAME = 'owner'

/** `further`: ports of other servers that they ask. */
export async function startShards(count: number, further: readonly number[] = []): Promise<Shards> {
  const folder = await temporaryFolder()
  const ports = await freePorts(2 * count)
  const [tcpPorts, httpPorts] = [ports.slice(0, count), ports.slice(count)]
  // A reset from a neighbour would end a shard; the proxy lets none through.
  const doors = await Promise.all(tcpPorts.map((port) => startProxy(port)))
  const paths = tcpPorts.map((_, index) => enginePaths(join(folder.path, String(index))))
  const [first, ...others] = paths
  if (!first) throw new Error('A cluster has at least one shard.')
  await makeFolders(first)
  const passwords = await ensurePasswords(first)
  for (const { engine, passwords: file } of [first, ...others]) {
    await mkdir(engine, { recursive: true })
    await writeFile(file, JSON.stringify(passwords))
  }
  const shardOf = (index: number) => {
    // A server knows itself by its port, and its neighbours by their doors.
    const shards = doors.map(
      (door, other) => `<shard><replica>
        <host>127.0.0.1</host><port>${other === index ? tcpPorts[index] : door.port}</port>
        <user>${USERNAME}</user><password>${passwords.owner}</password>
      </replica></shard>`,
    )
    const xml = `<tcp_port>${tcpPorts[index]}</tcp_port>
      <remote_servers><${CLUSTER}>${shards.join('')}</${CLUSTER}></remote_servers>`
    return { xml, ports: [...tcpPorts, ...doors.map(({ port }) => port), ...further] }
  }
  const start = async (index: number) => {
    const port = httpPorts[index]
    const dataDir = join(folder.path, String(index))
    const report = (fact: EngineFact) => {
      if (fact.kind === 'engine-ended' && !fact.exit.expected) console.log(`Shard ${index} has ended:`, fact.exit)
    }
    const engine = await startEngine({ dataDir, report, shard: shardOf(index), ...(port !== undefined && { port }) })
    await listen(engine)
    return engine
  }
  const engines: Engine[] = []
  for (const index of tcpPorts.keys()) engines.push(await start(index))
  const urls = httpPorts.map((port) => `http://127.0.0.1:${port}`)
  const [url = ''] = urls
  const database = 'candlepool'
  const config: Shards['config'] = {
    kind: 'server',
    url,
    username: USERNAME,
    password: passwords.owner,
    database,
    apiPassword: undefined,
    accountsPassword: undefined,
    cluster: { name: CLUSTER, urls },
  }
  const clients: ClickHouseClient[] = []
  return {
    config,
    environment: {
      CLICKHOUSE_URL: urls.join(),
      CLICKHOUSE_CLUSTER: CLUSTER,
      CLICKHOUSE_USER: USERNAME,
      CLICKHOUSE_PASSWORD: passwords.owner,
      CLICKHOUSE_DATABASE: database,
    },
    address: `127.0.0.1:${doors[0]?.port}`,
    sharesOf(database) {
      const shares = urls.map((url) => connect({ ...config, url, database: shardDatabaseOf(database) }))
      clients.push(...shares)
      return shares
    },
    async kill(index) {
      const engine = engines[index]
      if (!engine) throw new Error(`There is no shard ${index}.`)
      process.kill(-engine.pid, 'SIGKILL')
      await engine.exited
    },
    async restart(index) {
      engines[index] = await start(index)
    },
    async stop() {
      await Promise.all(clients.map((client) => client.close()))
      await Promise.all(engines.map((engine) => engine.stop()))
      await Promise.all(doors.map((door) => door.stop()))
      await folder.remove()
    },
  }
}

/** To the other shards: over HTTP it listens by itself. */
async function listen({ users, ...access }: EngineAccess): Promise<void> {
  const client = connect({ ...access, ...users.owner, database: 'default' })
  await client.command({ query: 'SYSTEM START LISTEN TCP' })
  await client.close()
}
