/** Recomputes candles in the process that writes them: the running one, else this one. */
import { type Job, type JobRequest, openJob, readJob } from '../../aggregator/jobs/job.ts'
import { pause } from '../../ingest/lib/wait.ts'
import type { Store } from '../clickhouse/store.ts'
import { print } from '../process/command.ts'
import { requireServed } from '../process/presence.ts'
import type { Run } from '../process/run.ts'
import { type WaitingNotice, waitingNotice } from './job-notice.ts'
import { withStandaloneAggregator } from './standalone.ts'

const POLL_MS = 300

/** `from` and `to` of the request are seconds since 1970. Throws where it failed. */
export async function rebuildCandles(request: Omit<JobRequest, 'concurrency'>, run: Run): Promise<void> {
  const { tables } = run.deployment
  const running = await tables.find()
  const store = running ?? (await tables.open(run.report, run.signal))
  try {
    if (running) await requireServed(store, request.network, 'aggregator', run.signal)
    const job = await openJob(store.owner, { ...request, concurrency: 1 }, 'rebuild')
    if (running) return await followJob(job, store, run, waitingNotice(job, store, 'aggregator'))
    await withStandaloneAggregator(request.network, store, run, () => followJob(job, store, run))
  } finally {
    await store.close()
  }
}

async function followJob({ network, id }: Job, store: Store, { signal }: Run, notice?: WaitingNotice): Promise<void> {
  let told = ''
  while (!signal.aborted) {
    const job = await readJob(store.owner, network, id)
    if (job?.state === 'failed') throw new Error(`The rebuild failed: ${job.reason}`)
    if (job?.state === 'done') return
    if (job && job.reason !== told) print(`Rebuilding candles of ${network}: ${job.reason}`)
    told = job?.reason ?? told
    const waits = await notice?.(job)
    if (waits !== undefined) print(waits)
    await pause(POLL_MS, signal)
  }
}
