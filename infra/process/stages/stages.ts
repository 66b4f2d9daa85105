/** Wires the stages of one network: its logs, its listener and its aggregator, each halted and restarted by itself. */

import { aggregate } from '../../../aggregator/aggregate.ts'
import type { WriteEvent } from '../../../aggregator/candles/changes.ts'
import { applyRetention } from '../../../aggregator/candles/retention.ts'
import { type VerifyShare, verifying } from '../../../aggregator/extras/verify/verify-worker.ts'
import type { HaltedStage } from '../../../aggregator/ledger/halts.ts'
import { notifying } from '../../../aggregator/ledger/observer.ts'
import { untilStored } from '../../../aggregator/ledger/until-stored.ts'
import { onAbort } from '../../../ingest/lib/wait.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { prepareDisk } from '../../clickhouse/disk.ts'
import type { Store } from '../../clickhouse/store.ts'
import type { Config, NetworkConfig } from '../../config/config.ts'
import { configuredNetworks } from '../../config/networks.ts'
import type { Logs } from '../log-backend.ts'
import type { Run } from '../run.ts'
import { runHaltable } from './halting.ts'
import { listenAndAudit } from './listener-stage.ts'
import { restarting } from './restart.ts'

/** Runs `use` with the network's logs until the signal aborts. A topic that Kafka refuses halts `stage` of this network only. */
export function withLogs(
  stage: HaltedStage,
  network: NetworkName,
  store: Store,
  run: Run,
  use: (logs: Logs, run: Run) => Promise<void>,
): Promise<void> {
  return runHaltable(stage, network, store, run, async (attempt) => {
    const logs = await run.deployment.log.open(network, store, attempt)
    // Rejects pending appends, so that their listeners end.
    onAbort(attempt.signal, () => void logs.close())
    await use(logs, attempt)
    await logs.close()
  })
}

/** Listens and audits until the signal aborts. */
export function runListener(network: NetworkConfig, logs: Logs, store: Store, run: Run): Promise<void> {
  return runHaltable('listener', network.network.name, store, run, (attempt) =>
    listenAndAudit(network, logs, store, attempt),
  )
}

/** Aggregates until the signal aborts. */
export function runAggregator(
  network: NetworkName,
  logs: Logs,
  store: Store,
  run: Run,
  onWritten: (written: WriteEvent) => void = () => {},
): Promise<void> {
  return runHaltable('aggregator', network, store, run, (attempt) =>
    restarting('aggregator', network, attempt, () => aggregateOnce(network, logs, store, attempt, onWritten)),
  )
}

async function aggregateOnce(
  network: NetworkName,
  { stream: log, backfillLog }: Logs,
  store: Store,
  { config, deployment, report, signal }: Run,
  onWritten: (written: WriteEvent) => void,
): Promise<void> {
  const { owner, hasOpenJobs, shards, servers } = store
  const { position, disk } = await untilStored({ network, report, signal }, async () => {
    for (const server of servers) await applyRetention(server, config.retention)
    const disk = await prepareDisk(store, config.fsync, deployment.log.resumesAtStoredTip)
    return { disk, position: await deployment.log.findPosition(owner, network, log) }
  })
  const publishing = deployment.openPublishing(NETWORKS[network], { report, signal })
  try {
    const logs = { log, history: backfillLog }
    const tables = { shards, disk, hasOpenJobs }
    const observers = [...publishing.observers, notifying(onWritten)]
    const workers = verifyShareOf(config).map(verifying)
    await aggregate(owner, { network, ...logs, position, ...tables, observers, workers, report, signal })
  } finally {
    await publishing.close()
  }
}

/** The networks of a process divide the share; a devnet is the only one. */
function verifyShareOf(config: Config): VerifyShare[] {
  const networks = Math.max(1, configuredNetworks(config).length)
  return config.verifyShare > 0 ? [{ share: config.verifyShare / networks }] : []
}
