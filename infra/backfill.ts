/** `npm run backfill`: reads a stretch of final history: in a cluster, beside a running `npm start`, and alone. */
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { aggregate } from '../aggregator/aggregate.ts'
import { type Job, type JobRequest, openJob, readJob } from '../aggregator/job.ts'
import { positionAfterStored } from '../aggregator/resume.ts'
import type { Message, Restatement } from '../ingest/message.ts'
import { NETWORK_NAMES } from '../ingest/network.ts'
import type { PoolId } from '../ingest/pool.ts'
import { pause } from '../ingest/wait.ts'
import { UsageError } from './command.ts'
import type { NetworkConfig } from './config.ts'
import { currentStoreFolder } from './folders.ts'
import { runJob } from './jobs.ts'
import { inProcessLog } from './log/in-process.ts'
import { kafkaHistory } from './log/kafka.ts'
import { progressLine, readProgress } from './progress.ts'
import { type Run, runProcess } from './run.ts'
import { findStore, openStore, type Store } from './store.ts'

const USAGE =
  'Usage: npm run backfill -- --network NAME --from-block N --to-block M [--pool ADDRESS_OR_ID]… [--concurrency 1..16]'
const LINE_MS = 5_000
const LOOK_MS = 300

const block = (name: string) =>
  z
    .string(`${name} is missing`)
    .regex(/^\d{1,12}$/, `${name} is not a block number`)
    .transform(Number)
const schema = z
  .object({
    network: z.enum(NETWORK_NAMES, `--network is none of ${NETWORK_NAMES.join(', ')}`),
    'from-block': block('--from-block'),
    'to-block': block('--to-block'),
    pool: z
      .array(
        z
          .string()
          .toLowerCase()
          .regex(/^0x([0-9a-f]{40}|[0-9a-f]{64})$/, '--pool is neither a v3 address nor a v4 id'),
      )
      .optional(),
    concurrency: z.coerce
      .number()
      .int()
      .min(1, '--concurrency is not 1 to 16')
      .max(16, '--concurrency is not 1 to 16')
      .default(4),
  })
  .refine((it) => it['from-block'] <= it['to-block'], '--from-block is after --to-block')

await runProcess(async (run) => {
  const request = readRequest()
  const { config } = run
  const network = networkOf(request, run)
  const folder = (await currentStoreFolder(config)) ?? config.dataDir
  const running = await findStore(config, folder)
  if (running && config.log.kind === 'kafka') return inCluster(request, requireNetwork(network), running, run)
  if (running) return besideOwner(request, running, run)
  return alone(request, requireNetwork(network), await openStore(config, folder, run.report, run.signal), run)
})

function readRequest(): JobRequest {
  const options = {
    network: { type: 'string' },
    'from-block': { type: 'string' },
    'to-block': { type: 'string' },
    pool: { type: 'string', multiple: true },
    concurrency: { type: 'string' },
  } as const
  try {
    const { values } = parseArgs({ options, allowPositionals: false })
    const { network, pool, concurrency, ...range } = schema.parse(values)
    return {
      network,
      from: range['from-block'],
      to: range['to-block'],
      pools: pool as PoolId[] | undefined,
      concurrency,
    }
  } catch (error) {
    const problems =
      error instanceof z.ZodError ? error.issues.map((issue) => issue.message) : [(error as Error).message]
    throw new UsageError([...problems, USAGE].join('\n'))
  }
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
  const { name } = network.network
  const stopping = new AbortController()
  const signal = AbortSignal.any([run.signal, stopping.signal])
  const log = inProcessLog<Message>({ nextOffset: 0 })
  const history = inProcessLog<Restatement>({ nextOffset: 0 })
  const position = await positionAfterStored(store.owner, name)
  const aggregating = aggregate(store.owner, { network: name, log, history, position, report: run.report, signal })
  aggregating.catch(run.fail)
  const job = await openJob(store.owner, request)
  const reading = runJob(job, network, history, store, run)
  await watch(job, store, run)
  stopping.abort()
  await Promise.all([log.close(), history.close()])
  await Promise.allSettled([aggregating, reading])
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
