/**
 * Checks that a job asked for an overwrite: table `jobs` has the job, and range and pools lie within it. Rows of the highest job number count,
 * so an overwrite with a made-up number would replace the rows of every later repair.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import type { RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { type Job, type JobKind, readJob } from '../jobs/job.ts'
import { filterOf } from './pool-filter.ts'

const READS_HISTORY: ReadonlySet<JobKind> = new Set(['backfill', 'audit'])
/** A job is stored before its first message; another replica may have it a little later. */
const WAIT_MS = 500
const WAITS = 4
/** Between two such waits. */
const WAIT_AGAIN_MS = 30_000
const JOBS_IN_MEMORY = 64

/** Returns the reason why the overwrite does not count, undefined if it does. */
export type AskedFor = (overwrite: RangeOverwrite) => Promise<string | undefined>

export function askedFor(client: ClickHouseClient, network: NetworkName): AskedFor {
  /** Range and pools of a job never change. */
  const known = new Map<number, Job>()
  let waitedAt = Number.NEGATIVE_INFINITY

  async function jobOf(id: number): Promise<Job | undefined> {
    const job = known.get(id) ?? (await readJob(client, network, id))
    if (!job) return undefined
    known.set(id, job)
    const [oldest] = known.keys()
    if (oldest !== undefined && known.size > JOBS_IN_MEMORY) known.delete(oldest)
    return job
  }

  async function awaitedJob(id: number): Promise<Job | undefined> {
    const mayWait = performance.now() - waitedAt > WAIT_AGAIN_MS
    for (let waits = 0; mayWait && waits < WAITS; waits++) {
      const job = await jobOf(id)
      if (job) return job
      await sleep(WAIT_MS)
      waitedAt = performance.now()
    }
    return jobOf(id)
  }

  return async (overwrite) => {
    const { job: id, from, to, pools } = overwrite
    const job = await awaitedJob(id)
    if (!job || !READS_HISTORY.has(job.kind)) return `No backfill or repair of ${network} has the number ${id}.`
    if (from < job.from || to > job.to)
      return `It is about blocks ${from} to ${to}, and job ${id} about ${job.from} to ${job.to}.`
    if (filterOf(pools) !== filterOf(job.pools)) return `It is about other pools than job ${id}.`
    return pools && strangerIn(overwrite, new Set(pools))
  }
}

function strangerIn({ blocks }: RangeOverwrite, pools: ReadonlySet<string>): string | undefined {
  for (const { number, ticks, liquidity } of blocks) {
    const stranger = [...ticks, ...liquidity].find(({ pool }) => !pools.has(pool))
    if (stranger) return `Its block ${number} names pool ${stranger.pool}, which is none of its own.`
  }
  return undefined
}
