/** Presence: the networks and roles of running processes. A lease, renewed while a process runs, by the clock of ClickHouse. */
import { randomUUID } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import { ask, run } from '../../aggregator/store/store.ts'
import { asTyped } from '../../ingest/lib/as-typed.ts'
import { pause } from '../../ingest/lib/wait.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Store } from '../clickhouse/store.ts'
import { UsageError } from '../lib/usage-error.ts'
import type { Problems } from './problems.ts'

/** `listener` reads the chain; `aggregator` stores blocks, rebuilds and rewinds; `jobs` reads the history that jobs name. */
export type Role = 'listener' | JobRole
/** A process that jobs need. */
export type JobRole = 'aggregator' | 'jobs'

const LEASE_SECONDS = 30
const RENEW_MS = 5_000
/** A process that starts has its tables before it has its stages. */
const START_MS = 10_000
const POLL_MS = 250

/** Renews the lease until the signal aborts, and ends it then. `problems` are written with each renewal. */
export async function announcePresence(
  client: ClickHouseClient,
  networks: readonly NetworkName[],
  roles: readonly Role[],
  signal: AbortSignal,
  problems: () => Promise<Problems>,
): Promise<void> {
  const process = randomUUID()
  // While the tables do not answer, no job can be opened either.
  const write = async (seconds: number, version: number) => {
    const found = await problems().catch((): Problems => new Map())
    const texts = networks.map((network) => found.get(network) ?? '')
    await run(
      client,
      `INSERT INTO presences (network, role, process, until, version, problem)
       SELECT served.1, role, {process:UUID}, now() + {seconds:UInt32}, {version:UInt64}, served.2
       FROM (SELECT arrayJoin(arrayZip({networks:Array(String)}, {problems:Array(String)})) AS served, arrayJoin({roles:Array(String)}) AS role)`,
      { networks, problems: texts, roles, process, seconds, version },
    ).catch(() => undefined)
  }
  let version = 0
  while (!signal.aborted) {
    await write(LEASE_SECONDS, ++version)
    await pause(RENEW_MS, signal)
  }
  await write(0, ++version)
}

/** The networks with a running process of this role. */
export async function servedNetworks(client: ClickHouseClient, role: Role): Promise<NetworkName[]> {
  const rows = await ask<{ network: NetworkName }>(
    client,
    'SELECT DISTINCT network FROM presences FINAL WHERE role = {role:String} AND until > now() ORDER BY network',
    { role },
  )
  return rows.map(({ network }) => network)
}

/**
 * Throws where no running process has this role for the network: at once where processes serve other networks, else after the time that
 * a process takes to start.
 */
export async function requireServed(
  { owner }: Store,
  network: NetworkName,
  role: JobRole,
  signal: AbortSignal,
): Promise<void> {
  const giveUp = performance.now() + START_MS
  for (;;) {
    const served = await servedNetworks(owner, role)
    if (served.includes(network) || signal.aborted) return
    if (served.length > 0 || performance.now() > giveUp) throw new UsageError(refusal(network, role, served))
    await pause(POLL_MS, signal)
  }
}

const DOES: Readonly<Record<JobRole, string>> = { aggregator: 'stores blocks', jobs: 'reads history' }

function refusal(network: NetworkName, role: JobRole, served: readonly NetworkName[]): string {
  const variable = `${network.toUpperCase()}_RPC_URL`
  const others = served.length === 0 ? '.' : `: those on these tables serve ${served.join(', ')}.`
  const where = served.length === 0 ? ' on these tables' : ''
  return [
    `No process ${DOES[role]} of ${network}${where}${others}`,
    asTyped(
      `\`npm start\` with ${variable} set, or with ${network} in NETWORKS, does it${role === 'aggregator' ? ', and so does `npm run aggregate` in a cluster' : ''}. Start it, then repeat this command.`,
    ),
    'Nothing was changed.',
  ].join('\n')
}
