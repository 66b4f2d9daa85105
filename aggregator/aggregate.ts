/**
 * The aggregator of one network: one writer of its tables, three sources of work.
 *
 *   log of the stream   → stream-writer.ts               validate → place → fold → encode → insert → record
 *   log of jobs         → history/range-overwrites.ts    final history replaces the stored rows of its blocks
 *   open jobs           → maintenance/rebuild-worker.ts  rebuilds, and rewinds (rewind-stream.ts)
 *
 * Beside them `workers` run, such as extras/verify/verify-worker.ts, which reads the tables.
 *
 * All of them share one priority queue: batches of the stream and rewinds go first, tasks of overwrites and rebuilds run between them.
 */
import type { ClickHouseClient } from '@clickhouse/client'
import { overwriteRanges } from './history/range-overwrites.ts'
import { watchJobs } from './jobs/open-jobs.ts'
import { runRebuildWorker } from './maintenance/rebuild-worker.ts'
import { openNetwork } from './open-network.ts'
import { rewindStream } from './rewind-stream.ts'
import { PriorityQueue } from './store/priority-queue.ts'
import { withStreamPriority } from './store/stream-priority.ts'
import { createStreamWriter, type StreamWriter } from './stream-writer.ts'
import type { AggregateOptions } from './write/aggregate-options.ts'
import type { OpenNetwork } from './write/writer-state.ts'

/** Work beside the writer, from its start to the abort of the signal. */
export type WriterWorker = (client: ClickHouseClient, writer: RunningWriter) => Promise<void>
export type RunningWriter = Queues &
  Pick<AggregateOptions, 'network' | 'report' | 'signal'> &
  Pick<OpenNetwork, 'ledger'>

type Queues = {
  /** Where every write of the network takes its turn. */
  writeQueue: PriorityQueue
  /** Range overwrites and rewinds, one at a time. */
  rangeQueue: PriorityQueue
}

export type WriterOptions = AggregateOptions & { workers?: readonly WriterWorker[] }

/**
 * Runs until the signal aborts. The writer epoch is acquired with the first batch, which may be empty: before that the log is not
 * assigned to this process, and another aggregator may be writing.
 */
export async function aggregate(client: ClickHouseClient, options: WriterOptions): Promise<void> {
  const { log, position, signal } = options
  const writeQueue = new PriorityQueue()
  // Where one log ends, the reading of the other ends too.
  const ended = new AbortController()
  const stop = AbortSignal.any([signal, ended.signal])
  let writer: Writer | undefined
  try {
    for await (const entries of log.read(position.offset, stop)) {
      writer ??= await startWriter(client, options, writeQueue, ended, stop)
      const { stream } = writer
      const storeBatch = async () => {
        for (const entry of entries) await stream.take(entry)
        await stream.store()
      }
      await withStreamPriority(() => writeQueue.high(storeBatch))
    }
  } finally {
    ended.abort()
    try {
      await writer?.workers
    } finally {
      await writer?.opened.observer.close()
    }
  }
}

type Writer = { opened: OpenNetwork; stream: StreamWriter; workers: Promise<unknown> }

async function startWriter(
  client: ClickHouseClient,
  options: WriterOptions,
  writeQueue: PriorityQueue,
  ended: AbortController,
  signal: AbortSignal,
): Promise<Writer> {
  const { shards = [client], hasOpenJobs = watchJobs(client).hasOpenJobs, network, workers = [], report } = options
  const opened = await openNetwork(client, options)
  const stream = createStreamWriter(client, options, opened)
  // A range overwrite takes many tasks of `writeQueue`: a rewind comes before or after all of them.
  const queues: Queues = { writeQueue, rangeQueue: new PriorityQueue() }
  const running = Promise.all([
    overwriteRanges(client, options, opened, queues, signal).finally(() => ended.abort()),
    runRebuildWorker(client, {
      ...options,
      ...opened,
      ...queues,
      hasOpenJobs,
      shards,
      rewindBy: (job) => rewindStream(client, options, opened, stream, job),
      signal,
    }),
    ...workers.map((work) => work(client, { network, report, ledger: opened.ledger, ...queues, signal })),
  ])
  // Awaited when the log ends.
  running.catch(() => undefined)
  return { opened, stream, workers: running }
}
