/** A configuration resolved into its parts: tables, log and request budgets. Callers use the parts and never ask which kind was configured. */
import { publishing } from '../../aggregator/extras/publish/publisher.ts'
import type { OpenObserver } from '../../aggregator/ledger/observer.ts'
import type { Network } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { EngineFact } from '../clickhouse/engine/engine.ts'
import { findStore, openStore, type Store, type StoreFact, type WaitOptions } from '../clickhouse/store.ts'
import type { Config } from '../config/config.ts'
import { currentStoreFolder } from '../config/folders.ts'
import { openPublicTopics } from '../kafka/public-topics.ts'
import { type LogBackend, logBackendOf, type RunContext } from './log-backend.ts'
import { RequestBudgets } from './request-budgets.ts'
import { registerSchemas } from './schema-registry.ts'

export type Deployment = {
  tables: Tables
  log: LogBackend
  budgets: RequestBudgets
  /** The publisher of a network's changes; no observer where no topic is configured. */
  openPublishing(network: Network, context: RunContext): OpenedPublishing
}

export type OpenedPublishing = { observers: readonly OpenObserver[]; close(): Promise<void> }

export type Tables = {
  /** The configured server, or the engine of another process; undefined where none runs. Without `waiting` it fails at once. */
  find(waiting?: WaitOptions): Promise<Store | undefined>
  /** The configured server, or an engine of this process. */
  open(report: Report<EngineFact | StoreFact>, signal?: AbortSignal): Promise<Store>
}

export function resolveDeployment(config: Config): Deployment {
  const folder = async () => (await currentStoreFolder(config)) ?? config.dataDir
  return {
    log: logBackendOf(config.log),
    budgets: new RequestBudgets(),
    openPublishing: publishingOf(config),
    tables: {
      find: async (waiting) => findStore(config, await folder(), waiting),
      open: async (report, signal) => openStore(config, await folder(), report, signal),
    },
  }
}

function publishingOf({ log, publish }: Config): Deployment['openPublishing'] {
  if (log.kind !== 'kafka' || !publish) return () => ({ observers: [], close: async () => {} })
  return (network, { report, signal }) => {
    const { kinds, registry } = publish
    const sink = openPublicTopics(log, { network, kinds, report, closed: signal })
    // Publishing does not wait for the registry. Only the signal ends the repetitions.
    if (registry) void registerSchemas(registry, sink.topics, { report, signal }).catch(() => undefined)
    return { observers: [publishing({ ...publish, sink })], close: sink.close }
  }
}

/** Runs `use` on the tables of a running process, else on tables opened for this call. */
export async function withTables({ tables }: Deployment, use: (store: Store) => Promise<void>): Promise<void> {
  const store = (await tables.find()) ?? (await tables.open(() => {}))
  try {
    await use(store)
  } finally {
    await store.close()
  }
}
