/** A job: a request of one process to another, as a row. Rows of a higher job number replace those of a lower one. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { BlockRange } from '../../ingest/model/block-range.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { Resolution } from '../candles/candle.ts'
import { ask, insertRows, run } from '../store/store.ts'
import { claimJobNumber } from './job-number.ts'

/** At most half a second old. False where the tables do not answer. */
export type HasOpenJobs = (network: NetworkName, kind: JobKind) => Promise<boolean>

/** A backfill reads final history on request; an audit opens its own job for each repair. A rebuild recomputes candles. A rewind takes back all blocks of its range. */
export const JOB_KINDS = ['backfill', 'audit', 'rebuild', 'rewind'] as const
export type JobKind = (typeof JOB_KINDS)[number]

/** `stopped`: it has sent as many requests as it may; a new job reads the rest. */
export const JOB_STATES = ['open', 'done', 'failed', 'stopped'] as const
export type JobState = (typeof JOB_STATES)[number]

/** The range is one of blocks, of a rebuild one of seconds since 1970. */
export type Job = BlockRange & {
  network: NetworkName
  id: number
  kind: JobKind
  /** All pools where absent. */
  pools: readonly PoolId[] | undefined
  /** For a rebuild; all of them where empty. */
  resolutions: readonly Resolution[]
  /** Ranges in flight. */
  concurrency: number
  /** It stops after about so many requests to endpoints. */
  maxRequests?: number | undefined
  /** Ranges that earlier jobs have read are read again. */
  again: boolean
  state: JobState
  /** Why it failed or stopped; while it is open, how far it is, and empty until a process has taken it. */
  reason: string
}

export type JobRequest = Pick<Job, 'network' | 'from' | 'to' | 'pools' | 'concurrency'> &
  Partial<Pick<Job, 'resolutions' | 'maxRequests' | 'again'>>

/** Makes an open job whose rows beat those of every job before it. */
export async function openJob(client: ClickHouseClient, request: JobRequest, kind: JobKind = 'backfill'): Promise<Job> {
  const id = await claimJobNumber(client, request.network)
  const job: Job = { resolutions: [], again: false, ...request, id, kind, state: 'open', reason: '' }
  await insertJob(client, job)
  return job
}

/** `said`: text that stays in its row. */
export function finishJob(client: ClickHouseClient, job: Job, said?: string): Promise<void> {
  return writeState(client, job, 'done', said)
}

/** Progress of an open job, as text that its command prints. */
export function recordProgress(client: ClickHouseClient, job: Job, progress: string): Promise<void> {
  return writeState(client, job, job.state, progress)
}

export function stopJob(client: ClickHouseClient, job: Job, reason: string): Promise<void> {
  return writeState(client, job, 'stopped', reason)
}

export function failJob(client: ClickHouseClient, job: Job, reason: string): Promise<void> {
  return writeState(client, job, 'failed', reason)
}

export async function readJob(client: ClickHouseClient, network: NetworkName, id: number): Promise<Job | undefined> {
  return (await readJobs(client, 'network = {network:String} AND id = {id:UInt32}', { network, id }))[0]
}

/** Oldest first. */
export function openJobs(client: ClickHouseClient, network: NetworkName, kind: JobKind): Promise<Job[]> {
  return readJobs(client, "network = {network:String} AND state = 'open' AND kind = {kind:String}", { network, kind })
}

/** Open jobs first, then the newest; without repairs of an audit. */
export function recentJobs(client: ClickHouseClient, network: NetworkName, limit: number): Promise<Job[]> {
  return readJobs(
    client,
    "network = {network:String} AND kind != 'audit'",
    { network, limit },
    "state = 'open' DESC, id DESC LIMIT {limit:UInt32}",
  )
}

type JobRow = Omit<Job, 'pools' | 'maxRequests' | 'again'> & {
  pools: PoolId[]
  max_requests: number
  again: boolean | number
}

async function readJobs(
  client: ClickHouseClient,
  where: string,
  parameters: Record<string, string | number>,
  order = 'id',
) {
  const rows = await ask<JobRow>(
    client,
    `SELECT network, id, kind, toFloat64(first) AS "from", toFloat64(last) AS "to", pools, resolutions, concurrency, max_requests,
       again, state, reason
     FROM jobs FINAL WHERE ${where} ORDER BY ${order}`,
    parameters,
  )
  return rows.map(({ max_requests, pools, again, ...row }): Job => {
    const limit = max_requests > 0 && { maxRequests: max_requests }
    return { ...row, pools: pools.length > 0 ? pools : undefined, again: Boolean(again), ...limit }
  })
}

/** Its pools may be too many for a statement's parameter. */
function insertJob(client: ClickHouseClient, job: Job): Promise<void> {
  const {
    network,
    id,
    kind,
    from,
    to,
    pools = [],
    resolutions,
    concurrency,
    maxRequests = 0,
    again,
    state,
    reason,
  } = job
  return insertRows(
    client,
    'jobs (network, id, kind, first, last, pools, resolutions, concurrency, state, reason, created, version, max_requests, again)',
    (out) => {
      out.string(network).uint32(id).string(kind).uint64(from).uint64(to).strings(pools).uint32s(resolutions)
      out
        .uint8(concurrency)
        .string(state)
        .string(reason)
        .uint32(Math.floor(Date.now() / 1000))
        .uint64(1)
        .uint32(maxRequests)
        .uint8(again ? 1 : 0)
    },
  )
}

/**
 * The version counts up from the stored one, so that the last write counts, independent of clocks. A job that is closed stays so: the process
 * that reads it may not know yet, and its progress beside the last state counts less.
 */
async function writeState(
  client: ClickHouseClient,
  { network, id, reason }: Job,
  state: JobState,
  said: string = reason,
): Promise<void> {
  await run(
    client,
    `INSERT INTO jobs
     SELECT * REPLACE ({state:String} AS state, {said:String} AS reason, now() AS created, jobs.version + {step:UInt8} AS version)
     FROM jobs FINAL WHERE network = {network:String} AND id = {id:UInt32} AND jobs.state = 'open'`,
    { network, id, state, said, step: state === 'open' ? 1 : 2 },
  )
}
