/** Rebuild worker: runs open rebuild and rewind jobs in the process that writes the candles, beside the stream. */

import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import { RESOLUTIONS } from '../candles/candle.ts'
import { recordChanges } from '../candles/changes.ts'
import { finishJob, type HasOpenJobs, type Job, recordProgress } from '../jobs/job.ts'
import { runJob, runJobs } from '../jobs/runner.ts'
import type { AggregatorFact } from '../ledger/fact.ts'
import type { PriorityQueue } from '../store/priority-queue.ts'
import { markDisturbed, type OpenNetwork, tipTime } from '../write/writer-state.ts'
import { rebuild } from './rebuild.ts'

const DAY = 86_400

export type RebuildWorkerOptions = OpenNetwork & {
  network: NetworkName
  hasOpenJobs: HasOpenJobs
  /** Servers with the tables themselves. */
  shards: readonly ClickHouseClient[]
  rewindBy(job: Job): Promise<void>
  writeQueue: PriorityQueue
  /** Range overwrites and rewinds, one at a time. */
  rangeQueue: PriorityQueue
  report: Report<AggregatorFact>
  signal: AbortSignal
}

/** Returns when the signal aborts; the next owner starts an open rebuild again. */
export function runRebuildWorker(client: ClickHouseClient, options: RebuildWorkerOptions): Promise<void> {
  const { network, hasOpenJobs, rewindBy, writeQueue, rangeQueue, report, signal } = options
  const run = (job: Job, kind: 'rebuild-failed' | 'rewind-failed', first: string, task: () => Promise<void>) =>
    runJob(client, job, {
      first,
      task,
      onFailed(error) {
        report({ kind, network, job: job.id, error })
        return error instanceof Error ? error.message : String(error)
      },
      signal,
    })
  // A rewind runs between two flushes, and between two restatements.
  const rewind = (job: Job) => rangeQueue.high(() => writeQueue.high(() => rewindBy(job)))
  const tasks = {
    rewind: (job: Job) => run(job, 'rewind-failed', 'taking blocks back', () => rewind(job)),
    rebuild: (job: Job) => run(job, 'rebuild-failed', '0 %', () => rebuildCandles(client, job, options)),
  }
  return runJobs(client, network, { tasks, hasOpenJobs, signal })
}

async function rebuildCandles(client: ClickHouseClient, job: Job, options: RebuildWorkerOptions): Promise<void> {
  try {
    await rebuildAll(client, job, options)
  } finally {
    options.state.isRebuilding = false
  }
}

async function rebuildAll(client: ClickHouseClient, job: Job, options: RebuildWorkerOptions): Promise<void> {
  const { network, shards, state, ledger, observer, writeQueue, report, signal } = options
  const began = performance.now()
  // Between two flushes: candles that are folded from here on have a higher version, and start from the stored ticks.
  const version = await writeQueue.low(async () => {
    state.isRebuilding = true
    state.open.invalidateAll(tipTime(ledger))
    markDisturbed(state, Number.NEGATIVE_INFINITY)
    return state.versions.next()
  })
  const resolutions = job.resolutions.length > 0 ? job.resolutions : RESOLUTIONS
  // The first day without expired ticks.
  const from = Math.max(job.from, Math.ceil(state.horizon() / DAY) * DAY)
  for (const [index, shard] of shards.entries()) {
    const onProgress = (share: number) =>
      recordProgress(client, job, `${Math.floor(((index + share) / shards.length) * 100)} %`)
    // Fsync the ticks first, between two flushes: rebuilt candles must not outlive them.
    const beforeSwap = () => writeQueue.low(observer.sync)
    const rebuilt = await rebuild(shard, { ...job, from, resolutions, version, onProgress, beforeSwap, signal })
    // A task of its own, so that changes are recorded in the order of their sequence.
    await observer.recomputed(rebuilt)
    await writeQueue.low(() => recordChanges(client, network, rebuilt, { sequence: state.versions.next() }))
  }
  await observer.sync()
  await finishJob(client, job)
  observer.written()
  report({ kind: 'rebuilt', network, job: job.id, ms: performance.now() - began })
}
