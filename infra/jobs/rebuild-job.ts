/** Recomputes candles in the process that writes them: the running one, else this one. */
import { type JobRequest, openJob } from '../../aggregator/jobs/job.ts'
import { print } from '../process/command.ts'
import { requireServed } from '../process/presence.ts'
import type { Run } from '../process/run.ts'
import { followPrinting, waitingNotice } from './job-notice.ts'
import { withStandaloneAggregator } from './standalone.ts'

/** `from` and `to` of the request are seconds since 1970. Throws where it failed. */
export async function rebuildCandles(request: Omit<JobRequest, 'concurrency'>, run: Run): Promise<void> {
  const { tables } = run.deployment
  const running = await tables.find()
  const store = running ?? (await tables.open(run.report, run.signal))
  try {
    if (running) await requireServed(store, request.network, 'aggregator', run.signal)
    const job = await openJob(store.owner, { ...request, concurrency: 1 }, 'rebuild')
    const notice = running && waitingNotice(job, store, 'aggregator')
    const follow = () =>
      followPrinting(job, store, run.signal, notice, (it) => print(`Rebuilding candles of ${job.network}: ${it}`))
    if (running) await follow()
    else await withStandaloneAggregator(request.network, store, run, follow)
  } finally {
    await store.close()
  }
}
