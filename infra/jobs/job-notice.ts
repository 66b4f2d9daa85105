/** Why a job is not done yet, for its operator who waits: none has taken it, another is done before it, or a stage has halted. */

import { type Job, openJobs } from '../../aggregator/jobs/job.ts'
import { followJob } from '../../aggregator/jobs/runner.ts'
import { readHalts } from '../../aggregator/ledger/halts.ts'
import { asTyped } from '../../ingest/lib/as-typed.ts'
import type { Store } from '../clickhouse/store.ts'
import { print } from '../process/command.ts'
import { type JobRole, servedNetworks } from '../process/presence.ts'

const FIRST_NOTICE_MS = 10_000
const POLL_MS = 2_000

/** Takes the stored job. Resolves with a sentence if the job has waited for longer than ten seconds and the reason is a new one. */
export type WaitingNotice = (job: Job | undefined) => Promise<string | undefined>

export function waitingNotice({ id, network, kind }: Job, { owner }: Store, role: JobRole): WaitingNotice {
  const began = performance.now()
  let checkedAt = Number.NEGATIVE_INFINITY
  let last: string | undefined

  async function reasonOf(job: Job | undefined): Promise<string | undefined> {
    const isTaken = job !== undefined && job.reason !== ''
    const served = await servedNetworks(owner, role)
    if (!served.includes(network)) return `no process that ${ROLE_DOES[role]} ${network} runs now`
    const [halt] = (await readHalts(owner, [network])).filter(({ stage }) => stage === 'aggregator')
    if (halt) return `the aggregator of ${network} has halted: ${halt.reason}`
    if (isTaken) return undefined
    const [before] = await openJobs(owner, network, kind)
    if (before && before.id < id) return `job ${before.id} of ${network} is done before it`
    return `no process has taken it yet`
  }

  return async (job) => {
    const now = performance.now()
    if (now - began < FIRST_NOTICE_MS || now - checkedAt < POLL_MS) return undefined
    checkedAt = now
    const reason = await reasonOf(job)
    if (reason === undefined || reason === last) return undefined
    last = reason
    const takeBack =
      kind === 'backfill' ? asTyped(` Take it back with: npm run backfill -- --network ${network} --cancel ${id}`) : ''
    return `Job ${id} waits: ${reason}. It stays open, and a process that serves ${network} takes it.${takeBack}`
  }
}

/** Until the job is done; throws where it failed. */
export async function followPrinting(
  job: Job,
  { owner }: Store,
  signal: AbortSignal,
  notice?: WaitingNotice,
  onReason: (reason: string) => void = () => {},
): Promise<void> {
  let last = ''
  await followJob(owner, job, {
    signal,
    async onRead(read) {
      if (read?.state === 'done') return true
      if (read?.state === 'failed') return false
      if (read && read.reason !== last) onReason(read.reason)
      last = read?.reason ?? last
      const waits = await notice?.(read)
      if (waits !== undefined) print(waits)
      return false
    },
  })
}

const ROLE_DOES: Readonly<Record<JobRole, string>> = { aggregator: 'stores blocks of', jobs: 'reads history of' }
