/** One stage as a process of its own, over tables that other processes use too. */
import type { HaltedStage } from '../../../aggregator/ledger/halts.ts'
import { asTyped } from '../../../ingest/lib/as-typed.ts'
import type { Store } from '../../clickhouse/store.ts'
import type { NetworkConfig } from '../../config/config.ts'
import { configuredNetworks } from '../../config/networks.ts'
import { type Admin, startAdmin } from '../admin.ts'
import type { Logs } from '../log-backend.ts'
import { announcePresence } from '../presence.ts'
import { ownProblems } from '../problems.ts'
import { type Run, runProcess } from '../run.ts'
import { runPartMerges } from './part-merges.ts'
import { withLogs } from './stages.ts'

/** Throws where no network is configured. */
export function networksOf({ config }: Run): readonly NetworkConfig[] {
  const networks = configuredNetworks(config)
  if (networks.length > 0) return networks
  throw new Error(
    asTyped('No network is configured: set NETWORKS, or <NETWORK>_RPC_URL. (The devnet runs only inside `npm start`.)'),
  )
}

/** Runs `stage` on the shared tables until the signal aborts. */
export function runStage(stage: (store: Store, run: Run, admin: Admin) => Promise<void>): Promise<void> {
  return runProcess(async (run, telemetry) => {
    const admin = await startAdmin(run, telemetry)
    const store = await run.deployment.tables.find(run)
    if (!store) {
      throw new Error(
        asTyped(
          'Stages that run apart share one ClickHouse: set CLICKHOUSE_URL, or use `npm start`, which brings its own.',
        ),
      )
    }
    try {
      admin.setStore(store)
      await stage(store, run, admin)
    } finally {
      await store.close()
    }
  })
}

/** Runs `task` for every network, each with its log in Kafka: nothing else joins processes. */
export function runOnLogs(
  stage: HaltedStage,
  task: (network: NetworkConfig, logs: Logs, store: Store, run: Run) => Promise<void>,
): Promise<void> {
  return runStage(async (store, run) => {
    if (!run.deployment.log.openBackfillLog) {
      throw new Error(
        asTyped('Stages that run apart are joined by Kafka: set KAFKA_BROKERS, or use `npm start`, which needs none.'),
      )
    }
    const networks = networksOf(run)
    const names = networks.map(({ network }) => network.name)
    await Promise.all([
      announcePresence(store.owner, names, [stage], run.signal, () => ownProblems(run, store)),
      ...(stage === 'aggregator' ? [runPartMerges(store, run)] : []),
      ...networks.map((network) =>
        withLogs(stage, network.network.name, store, run, (logs, attempt) => task(network, logs, store, attempt)),
      ),
    ])
  })
}
