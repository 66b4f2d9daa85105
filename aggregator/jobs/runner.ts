/** Runs and follows jobs: an open job is taken, its task runs, its row says how it ended, and the process that opened it reads that row. */
import type { ClickHouseClient } from '@clickhouse/client'
import { pause } from '../../ingest/lib/wait.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { failJob, type HasOpenJobs, type Job, type JobKind, openJobs, readJob, recordProgress } from './job.ts'

const RUN_MS = 1_000
const FOLLOW_MS = 300

/** Runs a job of its kind; a kind without a task is another process's. */
type JobTasks = Partial<Record<JobKind, (job: Job) => Promise<void>>>

/**
 * Runs the open jobs of a network, one at a time: kinds in the order of `tasks`, the oldest of a kind first. Returns when the signal aborts; jobs
 * that are open then are taken up at the next start.
 */
export async function runJobs(
  client: ClickHouseClient,
  network: NetworkName,
  { tasks, hasOpenJobs, signal }: { tasks: JobTasks; hasOpenJobs: HasOpenJobs; signal: AbortSignal },
): Promise<void> {
  const kinds = Object.entries(tasks) as [JobKind, (job: Job) => Promise<void>][]
  while (!signal.aborted) {
    for (const [kind, task] of kinds) {
      // Without an answer of the tables, the next round tries again.
      if (!(await hasOpenJobs(network, kind))) continue
      for (const { id } of await openJobs(client, network, kind).catch(() => [])) {
        // It may have been closed while the jobs before it ran.
        const job = await readJob(client, network, id).catch(() => undefined)
        if (job?.state === 'open' && !signal.aborted) await task(job)
      }
    }
    await pause(RUN_MS, signal)
  }
}

/**
 * Runs a task that closes its job where it succeeds. `first`: progress that shows that the job is taken. `onFailed`: returns the reason for the
 * job's row, none where the row is closed already.
 */
export async function runJob(
  client: ClickHouseClient,
  job: Job,
  options: { first: string; task(): Promise<void>; onFailed(error: unknown): string | undefined; signal: AbortSignal },
): Promise<void> {
  const { first, task, onFailed, signal } = options
  try {
    await recordProgress(client, job, first).catch(() => undefined)
    await task()
  } catch (error) {
    if (signal.aborted) return
    const reason = onFailed(error)
    // Tables that do not answer keep it open, and it is taken up again.
    if (reason !== undefined) await failJob(client, job, reason).catch(() => undefined)
  }
}

export type FollowJobOptions = {
  signal: AbortSignal
  everyMs?: number
  /** Called with each row; true ends the reading. By default a closed job does. */
  onRead?(job: Job | undefined): Promise<boolean> | boolean
  /** Continues where the tables do not answer, instead of throwing. */
  isPatient?: boolean
}

/** Reads a job's row until it is closed or the signal aborts. Throws where the job failed. */
export async function followJob(
  client: ClickHouseClient,
  { network, id, kind }: Job,
  { signal, everyMs = FOLLOW_MS, onRead = isClosed, isPatient = false }: FollowJobOptions,
): Promise<void> {
  for (;;) {
    const job = await readJob(client, network, id).catch((error: unknown) => {
      if (!isPatient) throw error
      return undefined
    })
    if (signal.aborted || (await onRead(job))) return
    if (job?.state === 'failed') throw new Error(`The ${kind} failed: ${job.reason}`)
    await pause(everyMs, signal)
  }
}

function isClosed(job: Job | undefined): boolean {
  return job !== undefined && job.state !== 'open' && job.state !== 'failed'
}
