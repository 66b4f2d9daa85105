/** A backfill that its operator takes back: what it has read stays, and the process that reads it stops. */
import { failJob, readJob } from '../aggregator/job.ts'
import type { NetworkName } from '../ingest/network.ts'
import { print } from './command.ts'
import { currentStoreFolder } from './folders.ts'
import { TAKEN_BACK } from './jobs.ts'
import type { Run } from './run.ts'
import { withStoreOf } from './store.ts'
import { UsageError } from './usage-error.ts'

export async function cancelBackfill(network: NetworkName, id: number, { config }: Run): Promise<void> {
  const folder = (await currentStoreFolder(config)) ?? config.dataDir
  await withStoreOf(config, folder, async ({ owner }) => {
    const job = await readJob(owner, network, id)
    if (job?.kind !== 'backfill' || job.state !== 'open')
      throw new UsageError(`${network} has no open backfill ${id}: npm run status lists the jobs.`)
    await failJob(owner, job, TAKEN_BACK)
    print(`Job ${id} of ${network} is taken back. What it has read stays.`)
  })
}
