/** The stages as running parts: what each needs, handed over, and what makes each start again. */

import { aggregate } from '../../aggregator/aggregate.ts'
import type { WriteEvent } from '../../aggregator/candles/changes.ts'
import { applyRetention } from '../../aggregator/candles/retention.ts'
import type { HaltedStage } from '../../aggregator/ledger/halts.ts'
import { positionAfterStored, positionInLog } from '../../aggregator/ledger/resume.ts'
import { ledgerStart, storedChain } from '../../aggregator/ledger/stored-blocks.ts'
import { untilStored } from '../../aggregator/ledger/until-stored.ts'
import { storedPools } from '../../aggregator/store/stored-pools.ts'
import { listen } from '../../ingest/follow/listener.ts'
import { firstBlock } from '../../ingest/follow/start-block.ts'
import { pause } from '../../ingest/lib/wait.ts'
import { WrongChain } from '../../ingest/model/errors.ts'
import type { RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import type { Endpoints } from '../../ingest/rpc/endpoints.ts'
import { getHead } from '../../ingest/rpc/rpc.ts'
import { RpcFailed } from '../../ingest/rpc/rpc-error.ts'
import { prepareDisk } from '../clickhouse/disk.ts'
import type { Store } from '../clickhouse/store.ts'
import type { Config, NetworkConfig } from '../config/config.ts'
import { inProcessLog } from '../kafka/in-process.ts'
import { kafkaBackfillLog, kafkaLog } from '../kafka/kafka.ts'
import { connectChain } from '../rpc/chain-client.ts'
import type { StageName } from '../telemetry/fact.ts'
import { runAudit } from './audit-stage.ts'
import { runHaltable } from './halting.ts'
import type { Run } from './run.ts'

/** What joins ingest and aggregator of one network. */
export type Logs = {
  stream: TickLog
  /** What jobs have read. */
  backfillLog: TickLog<RangeOverwrite>
  close(): Promise<void>
}

const RESTART_MS = 1_000
const RPC_RETRY_MS = 2_000

/** Kafka's topics where brokers are configured, else hand-overs, of which the stream goes on above what is stored. */
export async function openLogs(config: Config['log'], network: NetworkName, store: Store, run: Run): Promise<Logs> {
  const [stream, backfillLog] = await open()
  return { stream, backfillLog, close: () => Promise.all([stream.close(), backfillLog.close()]).then(() => {}) }

  async function open() {
    if (config.kind === 'kafka') {
      const options = { brokers: config.brokers, network, report: run.report, signal: run.signal }
      return Promise.all([kafkaLog(options), kafkaBackfillLog(options)])
    }
    const { offset } = await untilStored({ network, ...run }, () => positionAfterStored(store.owner, network))
    return [inProcessLog({ nextOffset: offset }), inProcessLog<RangeOverwrite>({ nextOffset: 0 })] as const
  }
}

/** `use` has the network's logs until the signal aborts. A topic of one network that Kafka refuses halts `stage` of that network. */
export function withLogs(
  stage: HaltedStage,
  network: NetworkName,
  store: Store,
  run: Run,
  use: (logs: Logs, run: Run) => Promise<void>,
): Promise<void> {
  return runHaltable(stage, network, store, run, async (attempt) => {
    const logs = await openLogs(run.config.log, network, store, attempt)
    // Appends that nobody will store any more must not hold their listeners.
    attempt.signal.addEventListener('abort', () => void logs.close(), { once: true })
    await use(logs, attempt)
    await logs.close()
  })
}

/** Listens until the signal aborts, and audits what is stored of it once that is final. */
export function runListener(network: NetworkConfig, logs: Logs, store: Store, run: Run): Promise<void> {
  return runHaltable('listener', network.network.name, store, run, (attempt) =>
    runListening(network, logs, store, attempt),
  )
}

async function runListening(
  { network, urls, isPublic, start }: NetworkConfig,
  { stream: log, backfillLog }: Logs,
  store: Store,
  run: Run,
): Promise<void> {
  const { config, report, signal } = run
  const { endpoints, watchHeads } = connectChain(urls, { network, report, signal })
  if (isPublic) {
    const advice = `It is shared by everybody, and slow: set ${network.name.toUpperCase()}_RPC_URL to an endpoint of your own.`
    report({ kind: 'public-endpoint', network: network.name, url: urls[0] ?? '', advice })
  }
  await untilAnswered(network.name, { report, signal }, async () => {
    // The first thing that an endpoint is asked is its chain: a wrong one is found here, not in the tables.
    await endpoints.run(getHead)
    await warnOfEarlierStart({ network, start }, endpoints, store, report)
  })
  const stored = storedChain(store.owner, network.name)
  const pools = storedPools(store.owner, network.name)
  const listening = restarting('listener', network.name, run, () =>
    listen(endpoints, {
      network,
      log,
      stored,
      storedPools: pools,
      start,
      pools: config.pools,
      watchHeads,
      report,
      signal,
    }),
  )
  await Promise.all([listening, runAudit(endpoints, network, backfillLog, store, run)])
}

/** An endpoint that is down at start-up is waited for as one that goes down later is; a wrong one is not. */
async function untilAnswered(
  network: NetworkName,
  { report, signal }: Pick<Run, 'report' | 'signal'>,
  task: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      return await task()
    } catch (error) {
      if (error instanceof WrongChain) throw error
      if (signal.aborted) return
      if (!(error instanceof RpcFailed)) report({ kind: 'rpc-failed', network, error, retryMs: RPC_RETRY_MS })
      await pause(RPC_RETRY_MS, signal)
    }
  }
}

/** A start below what is stored is not gone back to: that is a backfill, which runs beside the listener. */
async function warnOfEarlierStart(
  { network, start }: Pick<NetworkConfig, 'network' | 'start'>,
  endpoints: Endpoints,
  store: Store,
  report: Run['report'],
): Promise<void> {
  const stored = (await ledgerStart(store.owner, network.name))?.first
  if (stored === undefined) return
  const wanted = await firstBlock(endpoints, start)
  if (wanted >= stored) return
  const command = `npm run backfill -- --network ${network.name} --from-block ${wanted} --to-block ${stored - 1}`
  report({ kind: 'earlier-start', network: network.name, wanted, stored, command })
}

/** Aggregates until the signal aborts. */
export function runAggregator(
  network: NetworkName,
  logs: Logs,
  store: Store,
  run: Run,
  onWritten: (written: WriteEvent) => void = () => {},
): Promise<void> {
  const { config } = run
  const findPosition = config.log.kind === 'kafka' ? positionInLog : positionAfterStored
  return runHaltable('aggregator', network, store, run, (attempt) =>
    restarting('aggregator', network, attempt, () => aggregateOnce(attempt)),
  )

  async function aggregateOnce({ report, signal }: Run): Promise<void> {
    const { stream: log, backfillLog } = logs
    const { owner, shards, servers } = store
    const { position, disk } = await untilStored({ network, report, signal }, async () => {
      for (const server of servers) await applyRetention(server, config.retention)
      return { disk: await prepareDisk(store, config), position: await findPosition(owner, network, log) }
    })
    await aggregate(owner, { network, log, history: backfillLog, position, shards, disk, report, onWritten, signal })
  }
}

/** Begins again from the store where the log was taken away for a while, or its other end was. */
async function restarting(
  stage: StageName,
  network: NetworkName,
  { report, signal }: Run,
  task: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await task()
    } catch (error) {
      if (signal.aborted) return
      if (!isRetryable(error)) throw error
      report({ kind: 'stage-restarted', stage, network, error })
      await pause(RESTART_MS, signal)
    }
  }
}

function isRetryable(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === true
}
