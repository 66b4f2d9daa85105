/** Rebuild worker: runs open rebuild and rewind jobs in the process that writes the candles, beside the stream. */

import type { ClickHouseClient } from '@clickhouse/client'
import { pause } from '../../ingest/lib/wait.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import { RESOLUTIONS } from '../candles/candle.ts'
import { recordChanges } from '../candles/changes.ts'
import type { HasOpenJobs } from '../jobs/job.ts'
import { failJob, finishJob, type Job, recordProgress, runOpenJobs } from '../jobs/job.ts'
import type { AggregatorFact } from '../ledger/fact.ts'
import type { PriorityQueue } from '../store/priority-queue.ts'
import { markDisturbed, type OpenNetwork, tipTime } from '../write/writer-state.ts'
import { rebuild } from './rebuild.ts'

const POLL_MS = 1_000
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
export async function runRebuildWorker(client: ClickHouseClient, options: RebuildWorkerOptions): Promise<void> {
  const { network, hasOpenJobs, signal } = options
  const shared = { hasOpenJobs, signal }
  while (!signal.aborted) {
    await runOpenJobs(client, network, 'rewind', { ...shared, task: (job) => runRewind(client, job, options) })
    await runOpenJobs(client, network, 'rebuild', { ...shared, task: (job) => runRebuild(client, job, options) })
    await pause(POLL_MS, signal)
  }
}

/** Between two flushes, and between two restatements. */
async function runRewind(client: ClickHouseClient, job: Job, options: RebuildWorkerOptions): Promise<void> {
  const { network, rewindBy, writeQueue, rangeQueue, report, signal } = options
  try {
    await recordProgress(client, job, 'taking blocks back').catch(() => undefined)
    await rangeQueue.high(() => writeQueue.high(() => rewindBy(job)))
  } catch (error) {
    if (signal.aborted) return
    report({ kind: 'rewind-failed', network, job: job.id, error })
    await failJob(client, job, error instanceof Error ? error.message : String(error)).catch(() => undefined)
  }
}

async function runRebuild(client: ClickHouseClient, job: Job, options: RebuildWorkerOptions): Promise<void> {
  const { network, shards, state, ledger, observer, writeQueue, report, signal } = options
  const began = performance.now()
  try {
    await recordProgress(client, job, '0 %').catch(() => undefined)
    // Between two flushes: what is folded from here on has a higher version, and starts from what the ticks say.
    const version = await writeQueue.low(async () => {
      state.open.invalidateAll(tipTime(ledger))
      markDisturbed(state, Number.NEGATIVE_INFINITY)
      return state.versions.next()
    })
    const resolutions = job.resolutions.length > 0 ? job.resolutions : RESOLUTIONS
    // The first day of which all ticks are there.
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
  } catch (error) {
    if (signal.aborted) return
    report({ kind: 'rebuild-failed', network, job: job.id, error })
    await failJob(client, job, error instanceof Error ? error.message : String(error)).catch(() => undefined)
  }
}
