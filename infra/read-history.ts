/** Final history, read by whoever can: the cluster's log takes it, a running process does it, or this process does all of it. */
import { type BlockRange, forgetCoverage } from '../aggregator/coverage.ts'
import { type Job, type JobRequest, openJob, readJob } from '../aggregator/job.ts'
import type { NetworkName } from '../ingest/network.ts'
import { pause } from '../ingest/wait.ts'
import { withAggregator } from './alone.ts'
import { UsageError } from './command.ts'
import type { NetworkConfig } from './config.ts'
import { currentStoreFolder } from './folders.ts'
import { runJob } from './jobs.ts'
import { kafkaHistory } from './log/kafka.ts'
import { progressLine, readProgress } from './progress.ts'
import type { Run } from './run.ts'
import { findStore, openStore, type Store, withStoreOf } from './store.ts'

const LINE_MS = 5_000
const LOOK_MS = 300

/** What jobs have read of these blocks is read again when it is asked for. */
export async function forgetHistory(network: NetworkName, ranges: readonly BlockRange[], run: Run): Promise<void> {
  const folder = (await currentStoreFolder(run.config)) ?? run.config.dataDir
  await withStoreOf(run.config, folder, async ({ shards }) => {
    for (const shard of shards) await forgetCoverage(shard, network, ranges)
  })
}

/** Shows its progress; resolves once everything is stored, throws where that failed. */
export async function readHistory(request: JobRequest, run: Run): Promise<void> {
  const { config } = run
  const network = networkOf(request, run)
  const folder = (await currentStoreFolder(config)) ?? config.dataDir
  const running = await findStore(config, folder)
  if (running && config.log.kind === 'kafka') return inCluster(request, requireNetwork(network), running, run)
  if (running) return besideOwner(request, running, run)
  return alone(request, requireNetwork(network), await openStore(config, folder, run.report, run.signal), run)
}

/** Undefined for the devnet, whose chain only its own process can reach. */
function networkOf(request: JobRequest, { config }: Run): NetworkConfig | undefined {
  if (config.chain.kind === 'devnet') return undefined
  const network = config.chain.networks.find((it) => it.network.name === request.network)
  if (network) return network
  throw new UsageError(
    `${request.network} is not configured: set ${request.network.toUpperCase()}_RPC_URL, or name it in NETWORKS.`,
  )
}

function requireNetwork(network: NetworkConfig | undefined): NetworkConfig {
  if (network) return network
  throw new UsageError(
    'No network is configured: set <NETWORK>_RPC_URL. (The devnet is filled in while `npm start` runs.)',
  )
}

/** The process that owns the tables reads; this one watches. */
async function besideOwner(request: JobRequest, store: Store, run: Run): Promise<void> {
  const job = await openJob(store.owner, request)
  run.signal.addEventListener('abort', () => print(`Job ${job.id} goes on without this window.`), { once: true })
  await watch(job, store, run)
  await store.close()
}

/** This process reads, and the network's aggregator stores what comes over Kafka. */
async function inCluster(request: JobRequest, network: NetworkConfig, store: Store, run: Run): Promise<void> {
  const { config, report, signal } = run
  if (config.log.kind !== 'kafka') return
  const history = await kafkaHistory({ brokers: config.log.brokers, network: request.network, report, signal })
  const job = await openJob(store.owner, request)
  const reading = runJob(job, network, history, store, run)
  await watch(job, store, run)
  await history.close()
  await reading
  await store.close()
}

/** Nothing else runs on the tables: this process reads and stores. */
async function alone(request: JobRequest, network: NetworkConfig, store: Store, run: Run): Promise<void> {
  await withAggregator(network.network.name, store, run, async (history) => {
    const job = await openJob(store.owner, request)
    const reading = runJob(job, network, history, store, run)
    await watch(job, store, run)
    await reading
  })
  await store.close()
}

/** Until everything is stored; throws where the job failed. */
async function watch(job: Job, store: Store, { signal }: Run): Promise<void> {
  const total = job.to - job.from + 1
  const start = await readProgress(store, job)
  const began = performance.now()
  let lastLine = 0
  while (!signal.aborted) {
    const [now, state] = await Promise.all([readProgress(store, job), readJob(store.owner, job.network, job.id)])
    const line = progressLine(total, start, now, (performance.now() - began) / 1_000)
    const isOver = now.blocks === total && state?.state !== 'open'
    if (process.stdout.isTTY) process.stdout.write(`\r\u001b[K${line}${isOver ? '\n' : ''}`)
    else if (isOver || performance.now() - lastLine > LINE_MS || lastLine === 0) {
      print(line)
      lastLine = performance.now()
    }
    if (state?.state === 'failed') throw new Error(`The backfill failed: ${state.reason}`)
    if (isOver) return
    await pause(LOOK_MS, signal)
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
