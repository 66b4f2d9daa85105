/** ClickHouse for the stages: a server where one is configured, else the embedded engine. */

import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { type WatchedJobs, watchJobs } from '../../aggregator/jobs/open-jobs.ts'
import { truncateToCheckpoints } from '../../aggregator/ledger/checkpoint.ts'
import { retried } from '../../ingest/lib/wait.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { Config } from '../config/config.ts'
import type { ServerConfig } from '../config/server-config.ts'
import { connect } from './client/client.ts'
import { CLUSTER_SETTINGS, migrateCluster, refuseCluster, shardDatabaseOf } from './cluster.ts'
import { syncOf } from './disk.ts'
import { type EngineFact, startEngine } from './engine/engine.ts'
import type { EngineAccess } from './engine/engine-access.ts'
import { connectAnalyst, findEngine } from './engine/engine-access.ts'
import { API_LIMITS, API_PRIORITY } from './engine/engine-users.ts'
import { MigrationError, migrate } from './migrate.ts'
import { setDefiner } from './views.ts'

export type OwnerAccess = { url: string; username: string; password: string }

export type Store = WatchedJobs & {
  /** May do everything. */
  owner: ClickHouseClient
  /** Where statements of `owner` are sent that its client cannot send, such as those with a file. */
  ownerAccess: OwnerAccess
  /** Only reads the market, within limits. */
  reader: ClickHouseClient
  /** Keys and usage. */
  accounts: ClickHouseClient
  /** Only reads the market, in statements of people. */
  analyst: ClickHouseClient
  /** Where the tables are embedded. */
  engine?: EngineAccess | undefined
  /** That of the engine of this process: see `Engine`. */
  landlock?: number
  /** Where the tables themselves are: one server of each shard of a cluster, else `owner`. */
  shards: readonly ClickHouseClient[]
  /** As `shards`, with the replicas. */
  servers: readonly ClickHouseClient[]
  /** Syncs all acknowledged writes to the disk; absent where the server syncs itself, or no write is synced. */
  sync?: (() => Promise<void>) | undefined
  /** Resolves when the engine of this process ends unexpectedly. */
  failed: Promise<Error>
  close(): Promise<void>
}

export type StoreFact = { kind: 'store-waiting'; url: string; error: unknown; retryMs: number }

/** Retries until the server answers or the signal aborts. */
export type WaitOptions = { report: Report<StoreFact>; signal: AbortSignal }

/** Opens the configured server or starts the engine in `folder`; the tables are there and up to date when it resolves. */
export async function openStore(
  config: Pick<Config, 'store'>,
  folder: string,
  report: Report<EngineFact | StoreFact>,
  signal?: AbortSignal,
): Promise<Store> {
  if (config.store.kind === 'server') return openServer(config.store, signal && { report, signal })
  const engine = await startEngine({ dataDir: folder, report, ...(signal && { signal }) })
  const failed = new Promise<Error>((resolve) => {
    void engine.exited.then(({ expected, signal: by, code }) => {
      if (!expected) resolve(new Error(`The embedded ClickHouse ended (${by ?? code}). Its log is in ${folder}.`))
    })
  })
  try {
    const store = await openEngine(engine, failed, engine.stop)
    await truncateToCheckpoints(store.owner)
    return { ...store, landlock: engine.landlock, sync: await syncOf(folder) }
  } catch (error) {
    await engine.stop()
    throw error
  }
}

/** The configured server, or the engine that another process runs in `folder`; undefined where none runs. A command does not wait. */
export async function findStore(
  config: Pick<Config, 'store'>,
  folder: string,
  waiting?: WaitOptions,
): Promise<Store | undefined> {
  if (config.store.kind === 'server') return openServer(config.store, waiting)
  const engine = await findEngine(folder)
  return engine && openEngine(engine, never, async () => {})
}

async function openServer(server: ServerConfig, waiting?: WaitOptions): Promise<Store> {
  const { cluster, database, apiPassword, accountsPassword } = server
  const settings = cluster ? CLUSTER_SETTINGS : {}
  const ofOwner = { ...server, passwordFrom: 'CLICKHOUSE_PASSWORD' }
  const owner = connect({ ...ofOwner, settings })
  const reader =
    apiPassword === undefined
      ? connect({ ...ofOwner, settings: { ...settings, ...SMALL_READS, ...READ_ONLY }, requestTimeoutMs: READER_MS })
      : connect({
          ...server,
          username: 'api',
          password: apiPassword,
          passwordFrom: 'CLICKHOUSE_API_PASSWORD',
          settings: { ...settings, ...SMALL_READS },
          requestTimeoutMs: READER_MS,
        })
  const accounts =
    accountsPassword === undefined
      ? owner
      : connect({
          ...server,
          username: 'accounts',
          password: accountsPassword,
          passwordFrom: 'CLICKHOUSE_ACCOUNTS_PASSWORD',
          settings,
        })
  const servers = cluster?.urls.map((url) =>
    connect({ ...ofOwner, url, database: shardDatabaseOf(database), settings }),
  ) ?? [owner]
  const close = () => closeAll(new Set([owner, reader, accounts, ...servers]))
  async function bringUpToDate(): Promise<readonly ClickHouseClient[]> {
    if (cluster) return migrateCluster(servers, { name: cluster.name, database })
    await refuseCluster(owner, database)
    await migrate(owner, { database })
    return servers
  }
  try {
    const shards = await untilReachable(server, bringUpToDate, waiting)
    const clients = { owner, ownerAccess: server, reader, accounts, analyst: reader }
    return { ...clients, ...watchJobs(owner), shards, servers, failed: never, close }
  } catch (error) {
    await close()
    throw error
  }
}

const FIRST_RETRY_MS = 500
const MAX_RETRY_MS = 10_000

/** Retries while the server does not answer. An error of ClickHouse itself, such as a wrong password, is thrown at once. */
function untilReachable<T>(
  { url }: ServerConfig,
  task: () => Promise<T>,
  waiting: WaitOptions | undefined,
): Promise<T> {
  if (!waiting) return task()
  const { report, signal } = waiting
  return retried(task, {
    firstMs: FIRST_RETRY_MS,
    maxMs: MAX_RETRY_MS,
    signal,
    failed(error, retryMs) {
      if (isAnswer(error)) throw error
      report({ kind: 'store-waiting', url: new URL(url).host, error, retryMs })
    },
  })
}

function isAnswer(error: unknown): boolean {
  if (error instanceof MigrationError) return error.cause === undefined || isAnswer(error.cause)
  return error instanceof ClickHouseError
}

async function openEngine(engine: EngineAccess, failed: Promise<Error>, stop: () => Promise<void>): Promise<Store> {
  const { url, database, users } = engine
  const owner = connect({ url, database, ...users.owner })
  const settings = { ...SMALL_READS, priority: API_PRIORITY }
  const reader = connect({ url, database, ...users.api, settings, requestTimeoutMs: READER_MS })
  const accounts = connect({ url, database, ...users.accounts })
  const analyst = connectAnalyst(engine)
  await migrate(owner, { database })
  await setDefiner(owner)
  const close = () => closeAll([owner, reader, accounts, analyst]).then(stop)
  return {
    owner,
    ownerAccess: { url, ...users.owner },
    reader,
    accounts,
    analyst,
    engine,
    ...watchJobs(owner),
    shards: [owner],
    servers: [owner],
    failed,
    close,
  }
}

/** The rights of a server's only user are unknown, so the settings of each query forbid writes and bound its cost. */
const READ_ONLY = { readonly: '2', cancel_http_readonly_queries_on_client_close: 1, ...API_LIMITS } as const

/** Queries read few rows of every part: asynchronous readers would cost more than they save. */
const SMALL_READS = {
  local_filesystem_read_method: 'pread',
  enable_multiple_prewhere_read_steps: 0,
  use_query_condition_cache: 0,
} as const

/** Longer than the engine takes to stop a question, so that its error arrives. */
const READER_MS = 1_000 * API_LIMITS.max_execution_time + 2_000

const never = new Promise<never>(() => {})

async function closeAll(clients: Iterable<ClickHouseClient>): Promise<void> {
  await Promise.all(Array.from(clients, (client) => client.close()))
}
