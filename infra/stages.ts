/** The stages as running parts: what each needs, handed over, and what makes each start again. */
import { aggregate } from '../aggregator/aggregate.ts'
import { storedChain } from '../aggregator/ledger.ts'
import { positionAfterStored, positionInLog } from '../aggregator/resume.ts'
import { listen } from '../ingest/listener.ts'
import type { TickLog } from '../ingest/log.ts'
import type { NetworkName } from '../ingest/network.ts'
import { pause } from '../ingest/wait.ts'
import { checkChainId, connectChain } from './chain-client.ts'
import type { Config, NetworkConfig } from './config.ts'
import { inProcessLog } from './log/in-process.ts'
import { kafkaLog } from './log/kafka.ts'
import type { Run } from './run.ts'
import type { Store } from './store.ts'

export type OpenLog = TickLog & { close(): Promise<void> }

const RESTART_MS = 1_000

/** The log of one network: Kafka's where brokers are configured, else a hand-over that goes on above what is stored. */
export async function openLog(config: Config['log'], network: NetworkName, store: Store, run: Run): Promise<OpenLog> {
  if (config.kind === 'kafka') {
    return kafkaLog({ brokers: config.brokers, network, report: run.report, signal: run.signal })
  }
  const { offset } = await positionAfterStored(store.owner, network)
  return inProcessLog({ nextOffset: offset })
}

/** Listens until the signal aborts. */
export async function runListener(
  { network, urls, isPublic, start }: NetworkConfig,
  log: TickLog,
  store: Store,
  { config, report, signal }: Run,
): Promise<void> {
  const { client, watchHeads } = connectChain(urls)
  if (isPublic) report({ kind: 'public-endpoint', network: network.name, url: urls[0] ?? '' })
  await checkChainId(client, network)
  const stored = storedChain(store.owner, network.name)
  await listen(client, { network, log, stored, start, pools: config.pools, watchHeads, report, signal })
}

/** Aggregates until the signal aborts; begins again from the store where the log was taken away for a while. */
export async function runAggregator(
  network: NetworkName,
  log: TickLog,
  store: Store,
  { config, report, signal }: Run,
): Promise<void> {
  const findPosition = config.log.kind === 'kafka' ? positionInLog : positionAfterStored
  while (!signal.aborted) {
    try {
      const position = await findPosition(store.owner, network, log)
      await aggregate(store.owner, { network, log, position, report, signal })
    } catch (error) {
      if (signal.aborted) return
      if (!isRetryable(error)) throw error
      report({ kind: 'stage-restarted', stage: 'aggregator', network, error })
      await pause(RESTART_MS, signal)
    }
  }
}

function isRetryable(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === true
}
