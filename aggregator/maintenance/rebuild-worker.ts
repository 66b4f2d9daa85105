/** Upkeep: the rebuilds and rewinds that somebody asked for, done by whoever writes the candles, while the stream goes on. */
import type { ClickHouseClient } from '@clickhouse/client'
import { whenIdle } from '../../ingest/lib/live-priority.ts'
import { pause } from '../../ingest/lib/wait.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import { RESOLUTIONS } from '../candles/candle.ts'
import { recordChanges, type WriteEvent } from '../candles/changes.ts'
import { failJob, finishJob, type Job, openJobs, recordProgress } from '../jobs/job.ts'
import type { AggregatorFact } from '../ledger/fact.ts'
import type { PriorityQueue } from '../store/priority-queue.ts'
import { markDisturbed, type OpenNetwork, tipTime } from '../write/writer-state.ts'
import { rebuild } from './rebuild.ts'

const POLL_MS = 1_000
const DAY = 86_400

export type RebuildWorkerOptions = OpenNetwork & {
  network: NetworkName
  /** Servers with the tables themselves. */
  shards: readonly ClickHouseClient[]
  rewindBy(job: Job): Promise<void>
  writeQueue: PriorityQueue
  /** Restatements and rewinds, each of them whole. */
  rangeQueue: PriorityQueue
  report: Report<AggregatorFact>
  onWritten?: ((written: WriteEvent) => void) | undefined
  signal: AbortSignal
}

/** Until the signal aborts; a rebuild that is open then is begun again by the next owner. */
export async function runRebuildWorker(client: ClickHouseClient, options: RebuildWorkerOptions): Promise<void> {
  const { network, signal } = options
  while (!signal.aborted) {
    await whenIdle()
    // Tables that do not answer have no jobs for us now.
    const rewinds = await openJobs(client, network, 'rewind').catch(() => [])
    for (const job of rewinds) if (!signal.aborted) await runRewind(client, job, options)
    const jobs = await openJobs(client, network, 'rebuild').catch(() => [])
    for (const job of jobs) if (!signal.aborted) await runRebuild(client, job, options)
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
  const { network, shards, state, ledger, checkpointer, writeQueue, report, onWritten, signal } = options
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
      // Between two flushes: what it is made of must not be lost where it is not.
      const beforeSwap = checkpointer && (() => writeQueue.low(checkpointer.save))
      const rebuilt = await rebuild(shard, { ...job, from, resolutions, version, onProgress, beforeSwap, signal })
      // In the order of their numbers: none is told while a flush is on its way.
      await writeQueue.low(() => recordChanges(client, network, rebuilt, { sequence: state.versions.next() }))
    }
    await checkpointer?.save()
    await finishJob(client, job)
    onWritten?.({ network })
    report({ kind: 'rebuilt', network, job: job.id, ms: performance.now() - began })
  } catch (error) {
    if (signal.aborted) return
    report({ kind: 'rebuild-failed', network, job: job.id, error })
    await failJob(client, job, error instanceof Error ? error.message : String(error)).catch(() => undefined)
  }
}
