/** Reads final history: over Kafka in a cluster, in the running process that owns the tables, or in this process alone. */
import { type Job, type JobRequest, openJob } from '../../aggregator/jobs/job.ts'
import { followJob } from '../../aggregator/jobs/runner.ts'
import type { HistorySource } from '../../ingest/backfill/history-source.ts'
import { asTyped } from '../../ingest/lib/as-typed.ts'
import type { RangeOverwrite } from '../../ingest/model/message.ts'
import type { Store } from '../clickhouse/store.ts'
import type { NetworkConfig } from '../config/config.ts'
import { configuredNetwork, configuredNetworks } from '../config/networks.ts'
import { type CryoFolder, overlapping, requireWhole } from '../files/cryo-files.ts'
import { fileSource } from '../files/file-source.ts'
import { requireColumns } from '../files/parquet-columns.ts'
import type { KafkaLog } from '../kafka/kafka.ts'
import { printLine, printProgress } from '../lib/output.ts'
import { UsageError } from '../lib/usage-error.ts'
import { type JobRole, requireServed, servedNetworks } from '../process/presence.ts'
import type { Run } from '../process/run.ts'
import { waitingNotice } from './job-notice.ts'
import { runBackfill } from './job-runner.ts'
import { progressLine, readProgress } from './progress.ts'
import { withStandaloneAggregator } from './standalone.ts'

const LINE_MS = 5_000

/**
 * Shows its progress; resolves once everything is stored, throws where that failed, and where no process would take it. `files`: have the logs and
 * headers; without them endpoints are asked.
 */
export async function readHistory(request: JobRequest, run: Run, files?: CryoFolder): Promise<void> {
  const { tables, log } = run.deployment
  const network = networkOf(request, run)
  if (files) requireWhole(files, request)
  const running = await tables.find()
  if (!running) {
    const store = await tables.open(run.report, run.signal)
    return readStandalone(request, requireNetwork(network), store, run, files)
  }
  try {
    const open = log.openBackfillLog
    const configured = files || open ? requireNetwork(network) : undefined
    if (open && configured) {
      const source = files && (await openFiles(files, request, configured, running, run))
      await readInCluster(request, configured, () => open(request.network, run), running, run, source)
    } else if (files) throw new UsageError(FILES_BESIDE)
    else await readInOwner(request, running, run)
  } finally {
    await running.close()
  }
}

const FILES_BESIDE = asTyped(
  '--files: a process runs on these tables and would ask its endpoints. Stop it, read the files, and start it again; in a cluster, files are read beside the running processes.',
)

/** Throws before a job is opened where the files cannot be read. */
async function openFiles(
  files: CryoFolder,
  request: JobRequest,
  { network: { chainId } }: NetworkConfig,
  { ownerAccess: server }: Store,
  { config: { proofShare }, signal }: Run,
): Promise<HistorySource> {
  const used = [...overlapping(files.logs, request), ...overlapping(files.blocks, request)]
  await requireColumns(server, used, files.folder, signal)
  return fileSource({ server, files, chainId, proofShare })
}

/** Undefined for the devnet: only its own process can reach its chain. */
function networkOf(request: JobRequest, { config }: Run): NetworkConfig | undefined {
  const network = configuredNetwork(config, request.network)
  if (network || configuredNetworks(config).length === 0) return network
  throw new UsageError(
    `${request.network} is not configured: set ${request.network.toUpperCase()}_RPC_URL, or name it in NETWORKS.`,
  )
}

function requireNetwork(network: NetworkConfig | undefined): NetworkConfig {
  if (network) return network
  throw new UsageError(
    asTyped('No network is configured: set <NETWORK>_RPC_URL. (The devnet is filled in while `npm start` runs.)'),
  )
}

/** The process that owns the tables reads; this one shows its progress. */
async function readInOwner(request: JobRequest, store: Store, run: Run): Promise<void> {
  await requireServed(store, request.network, 'jobs', run.signal)
  const job = await openJob(store.owner, request)
  run.signal.addEventListener('abort', () => printLine(`Job ${job.id} continues in the running process.`), {
    once: true,
  })
  await followReading(job, store, run, 'jobs')
}

/** This process reads the history into Kafka, and the network's aggregator stores it; Kafka keeps it until an aggregator runs. */
async function readInCluster(
  request: JobRequest,
  network: NetworkConfig,
  openBackfillLog: () => Promise<KafkaLog<RangeOverwrite>>,
  store: Store,
  run: Run,
  source: HistorySource | undefined,
): Promise<void> {
  const served = await servedNetworks(store.owner, 'aggregator')
  if (served.length > 0) await requireServed(store, request.network, 'aggregator', run.signal)
  const history = await openBackfillLog()
  const job = await openJob(store.owner, request)
  const reading = runBackfill(job, network, history, store, run, source)
  try {
    await followReading(job, store, run, 'aggregator')
  } finally {
    await history.close()
    await reading
  }
}

/** Nothing else runs on the tables: this process reads and stores. */
async function readStandalone(
  request: JobRequest,
  network: NetworkConfig,
  store: Store,
  run: Run,
  files: CryoFolder | undefined,
): Promise<void> {
  try {
    const source = files && (await openFiles(files, request, network, store, run))
    await withStandaloneAggregator(network.network.name, store, run, async (history) => {
      const job = await openJob(store.owner, request)
      const reading = runBackfill(job, network, history, store, run, source)
      await followReading(job, store, run, undefined)
      await reading
    })
  } finally {
    await store.close()
  }
}

/** Until everything is stored; throws where the job failed. `role`: of the process that has to be there for it. */
async function followReading(job: Job, store: Store, { signal }: Run, role: JobRole | undefined): Promise<void> {
  const isTerminal = process.stdout.isTTY
  const total = job.to - job.from + 1
  const start = await readProgress(store, job)
  const began = performance.now()
  const notice = role && waitingNotice(job, store, role)
  let lastLine = 0
  let estimate = ''
  await followJob(store.owner, job, {
    signal,
    async onRead(read) {
      const now = await readProgress(store, job)
      if (read && read.reason !== estimate && read.reason.startsWith('about ')) {
        estimate = read.reason
        const line = `Estimate: ${estimate}.`
        if (isTerminal) printProgress(line, true)
        else printLine(line)
      }
      const line = progressLine(total, start, now, (performance.now() - began) / 1_000)
      const isOver = now.blocks === total && read?.state !== 'open'
      if (isTerminal) printProgress(line, isOver)
      else if (isOver || performance.now() - lastLine > LINE_MS || lastLine === 0) {
        printLine(line)
        lastLine = performance.now()
      }
      if (read?.state === 'stopped') printLine(isTerminal ? `\n${read.reason}` : read.reason)
      if (read?.state === 'stopped' || read?.state === 'failed') return read.state === 'stopped'
      if (isOver) return true
      const waits = await notice?.(read)
      if (waits !== undefined) printLine(isTerminal ? `\n${waits}` : waits)
      return false
    },
  })
}
