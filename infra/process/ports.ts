/** Ports and the data folder, tried before anything is built: a start takes half a minute until it needs them. */
import { once } from 'node:events'
import { access, constants, mkdir } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { BadConfiguration } from '../config/bad-configuration.ts'
import type { Config } from '../config/config.ts'

type NamedPort = { variable: string; host: string; port: number }

function portsOf({ host, port, adminHost, adminPort, sqlHost, sqlPort }: Config): NamedPort[] {
  const ports = [
    { variable: 'PORT', host, port },
    { variable: 'ADMIN_PORT', host: adminHost, port: adminPort },
    { variable: 'SQL_PORT', host: sqlHost, port: sqlPort },
  ]
  // Port 0 is a free one.
  return ports.filter((it): it is NamedPort => it.port !== undefined && it.port !== 0)
}

/** Throws `BadConfiguration` with each port that is taken, and with a folder that cannot be written. */
export async function checkPlaces(config: Config): Promise<void> {
  const problems: string[] = []
  const servers: Server[] = []
  for (const named of portsOf(config)) {
    const server = createServer()
    try {
      await once(server.listen(named.port, named.host), 'listening')
      servers.push(server)
    } catch (error) {
      problems.push(portProblem(named, error))
    }
  }
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  const folderProblem = await mkdir(config.dataDir, { recursive: true })
    .then(() => access(config.dataDir, constants.W_OK))
    .catch(codeOf)
  if (folderProblem) problems.push(`DATA_DIR is ${config.dataDir}, which cannot be written (${folderProblem})`)
  if (problems.length > 0) throw new BadConfiguration(problems)
}

/** The variable of a port that a server of this process could not have; undefined for other errors. */
export function takenPort(error: unknown, config: Config): string | undefined {
  const { code, port } = (error ?? {}) as { code?: unknown; port?: unknown }
  if (code !== 'EADDRINUSE') return undefined
  const named = portsOf(config).find((it) => it.port === port)
  return named && portProblem(named, error)
}

function portProblem({ variable, host, port }: NamedPort, error: unknown): string {
  const code = codeOf(error)
  if (code === 'EADDRINUSE')
    return `${variable} is ${port}, and port ${port} of ${host} is taken: end the process that listens there, or set ${variable} to a free port`
  return `${variable} is ${port}, on which this process cannot listen at ${host} (${code})`
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
