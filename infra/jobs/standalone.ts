/** Runs an aggregator for the duration of a command, on tables without another writer. */
import { aggregate } from '../../aggregator/aggregate.ts'
import { positionAfterStored } from '../../aggregator/ledger/resume.ts'
import type { Message, RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import { prepareDisk } from '../clickhouse/disk.ts'
import type { Store } from '../clickhouse/store.ts'
import { inProcessLog } from '../kafka/in-process.ts'
import type { Run } from '../process/run.ts'

export async function withStandaloneAggregator(
  network: NetworkName,
  store: Store,
  run: Run,
  use: (history: TickLog<RangeOverwrite>) => Promise<void>,
): Promise<void> {
  const stopping = new AbortController()
  const signal = AbortSignal.any([run.signal, stopping.signal])
  const log = inProcessLog<Message>({ nextOffset: 0 })
  const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
  const position = await positionAfterStored(store.owner, network)
  const { config, deployment, report } = run
  const disk = await prepareDisk(store, config.fsync, deployment.log.resumesAtStoredTip)
  const { observers, close } = deployment.openPublishing(NETWORKS[network], { report, signal })
  const aggregating = aggregate(store.owner, { network, log, history, position, disk, observers, report, signal })
  aggregating.catch(run.fail)
  try {
    await use(history)
  } finally {
    stopping.abort()
    await Promise.all([log.close(), history.close()])
    await Promise.allSettled([aggregating])
    await close()
  }
}
