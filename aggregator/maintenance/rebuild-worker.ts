/** Upkeep: the rebuilds and rewinds that somebody asked for, done by whoever writes the candles, while the stream goes on. */
import type { ClickHouseClient } from '@clickhouse/client'
import { calm } from '../../ingest/lib/live-priority.ts'
import { pause } from '../../ingest/lib/wait.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import { RESOLUTIONS } from '../candles/candle.ts'
import { recordChanges, type Written } from '../candles/changes.ts'
import { failJob, finishJob, type Job, noteJob, openJobs } from '../jobs/job.ts'
import type { Settling } from '../ledger/checkpoint.ts'
import type { AggregatorFact } from '../ledger/fact.ts'
import type { Turns } from '../store/priority-queue.ts'
import { disturbHistory, type Keeping } from '../write/writer-state.ts'
import { rebuild } from './rebuild.ts'

const LOOK_MS = 1_000
const DAY = 86_400

export type UpkeepOptions = {
  network: NetworkName
  /** Where the tables themselves are. */
  shards: readonly ClickHouseClient[]
  keeping: Keeping
  /** The time of the newest stored block. */
  tip(): UnixSeconds
  settling: Settling | undefined
  rewindBy(job: Job): Promise<void>
  turns: Turns
  /** Restatements and rewinds, each of them whole. */
  runs: Turns
  report: Report<AggregatorFact>
  onWritten?: ((written: Written) => void) | undefined
  signal: AbortSignal
}

/** Until the signal aborts; a rebuild that is open then is begun again by the next owner. */
export async function keepUp(client: ClickHouseClient, options: UpkeepOptions): Promise<void> {
  const { network, signal } = options
  while (!signal.aborted) {
    await calm()
    // Tables that do not answer have no jobs for us now.
    const rewinds = await openJobs(client, network, 'rewind').catch(() => [])
    for (const job of rewinds) if (!signal.aborted) await runRewind(client, job, options)
    const jobs = await openJobs(client, network, 'rebuild').catch(() => [])
    for (const job of jobs) if (!signal.aborted) await runRebuild(client, job, options)
    await pause(LOOK_MS, signal)
  }
}

/** Between two flushes, and between two restatements. */
async function runRewind(client: ClickHouseClient, job: Job, options: UpkeepOptions): Promise<void> {
  const { network, rewindBy, turns, runs, report, signal } = options
  try {
    await noteJob(client, job, 'taking blocks back').catch(() => undefined)
    await runs.urgent(() => turns.urgent(() => rewindBy(job)))
  } catch (error) {
    if (signal.aborted) return
    report({ kind: 'rewind-failed', network, job: job.id, error })
    await failJob(client, job, error instanceof Error ? error.message : String(error)).catch(() => undefined)
  }
}

async function runRebuild(client: ClickHouseClient, job: Job, options: UpkeepOptions): Promise<void> {
  const { network, shards, keeping, tip, settling, turns, report, onWritten, signal } = options
  const began = performance.now()
  try {
    await noteJob(client, job, '0 %').catch(() => undefined)
    // Between two flushes: what is folded from here on has a higher version, and starts from what the ticks say.
    const version = await turns.patient(async () => {
      keeping.open.forgetAll(tip())
      disturbHistory(keeping, Number.NEGATIVE_INFINITY)
      return keeping.versions.next()
    })
    const resolutions = job.resolutions.length > 0 ? job.resolutions : RESOLUTIONS
    // The first day of which all ticks are there.
    const from = Math.max(job.from, Math.ceil(keeping.horizon() / DAY) * DAY)
    for (const [index, shard] of shards.entries()) {
      const onProgress = (share: number) =>
        noteJob(client, job, `${Math.floor(((index + share) / shards.length) * 100)} %`)
      // Between two flushes: what it is made of must not be lost where it is not.
      const beforeSwap = settling && (() => turns.patient(settling.settle))
      const rebuilt = await rebuild(shard, { ...job, from, resolutions, version, onProgress, beforeSwap, signal })
      // In the order of their numbers: none is told while a flush is on its way.
      await turns.patient(() => recordChanges(client, network, rebuilt, { sequence: keeping.versions.next() }))
    }
    await settling?.settle()
    await finishJob(client, job)
    onWritten?.({ network })
    report({ kind: 'rebuilt', network, job: job.id, ms: performance.now() - began })
  } catch (error) {
    if (signal.aborted) return
    report({ kind: 'rebuild-failed', network, job: job.id, error })
    await failJob(client, job, error instanceof Error ? error.message : String(error)).catch(() => undefined)
  }
}
