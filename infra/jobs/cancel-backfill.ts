/** A backfill that its operator takes back: what it has read stays, and the process that reads it stops. */
import { failJob, readJob } from '../../aggregator/jobs/job.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { UsageError } from '../lib/usage-error.ts'
import { print } from '../process/command.ts'
import { withTables } from '../process/deployment.ts'
import type { Run } from '../process/run.ts'
import { CANCELLED } from './job-runner.ts'

export async function cancelBackfill(network: NetworkName, id: number, { deployment }: Run): Promise<void> {
  await withTables(deployment, async ({ owner }) => {
    const job = await readJob(owner, network, id)
    if (job?.kind !== 'backfill' || job.state !== 'open')
      throw new UsageError(`${network} has no open backfill ${id}: npm run status lists the jobs.`)
    await failJob(owner, job, CANCELLED)
    print(`Job ${id} of ${network} is taken back. What it has read stays.`)
  })
}
