/** A job: a stretch of final history that is read anew. Its row is how one process asks another; its number says whose word counts. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../ingest/network.ts'
import type { PoolId } from '../ingest/pool.ts'
import type { BlockRange } from './coverage.ts'
import { ask, run } from './store.ts'

/** A backfill is asked for by somebody; an audit repairs what it finds by itself. */
export const JOB_KINDS = ['backfill', 'audit'] as const
export type JobKind = (typeof JOB_KINDS)[number]

export const JOB_STATES = ['open', 'done', 'failed'] as const
export type JobState = (typeof JOB_STATES)[number]

export type Job = BlockRange & {
  network: NetworkName
  id: number
  kind: JobKind
  /** All pools where absent. */
  pools: readonly PoolId[] | undefined
  /** Ranges in flight. */
  concurrency: number
  state: JobState
  reason: string
}

export type JobRequest = Pick<Job, 'network' | 'from' | 'to' | 'pools' | 'concurrency'>

/** Makes an open job whose rows beat those of every job before it. */
export async function openJob(client: ClickHouseClient, request: JobRequest, kind: JobKind = 'backfill'): Promise<Job> {
  const { network } = request
  const [last] = await ask<{ id: number }>(
    client,
    'SELECT max(jobs.id) AS id FROM jobs WHERE network = {network:String}',
    { network },
  )
  const job: Job = { ...request, id: (last?.id ?? 0) + 1, kind, state: 'open', reason: '' }
  await writeJob(client, job)
  return job
}

export function finishJob(client: ClickHouseClient, job: Job): Promise<void> {
  return writeJob(client, { ...job, state: 'done' })
}

export function failJob(client: ClickHouseClient, job: Job, reason: string): Promise<void> {
  return writeJob(client, { ...job, state: 'failed', reason })
}

export async function readJob(client: ClickHouseClient, network: NetworkName, id: number): Promise<Job | undefined> {
  return (await readJobs(client, 'network = {network:String} AND id = {id:UInt32}', { network, id }))[0]
}

/** Oldest first. */
export function openJobs(client: ClickHouseClient, network: NetworkName, kind: JobKind): Promise<Job[]> {
  return readJobs(client, "network = {network:String} AND state = 'open' AND kind = {kind:String}", { network, kind })
}

type JobRow = Omit<Job, 'pools'> & { pools: PoolId[] }

async function readJobs(client: ClickHouseClient, where: string, parameters: Record<string, string | number>) {
  const rows = await ask<JobRow>(
    client,
    `SELECT network, id, kind, toFloat64(first) AS "from", toFloat64(last) AS "to", pools, concurrency, state, reason
     FROM jobs FINAL WHERE ${where} ORDER BY id`,
    parameters,
  )
  return rows.map((row): Job => ({ ...row, pools: row.pools.length > 0 ? row.pools : undefined }))
}

async function writeJob(client: ClickHouseClient, { pools, ...job }: Job): Promise<void> {
  await run(
    client,
    `INSERT INTO jobs SELECT {network:String}, {id:UInt32}, {kind:String}, {from:UInt64}, {to:UInt64}, {pools:Array(String)},
       {concurrency:UInt8}, {state:String}, {reason:String}, now(), {version:UInt64}`,
    { ...job, pools: pools ?? [], version: Date.now() },
  )
}
