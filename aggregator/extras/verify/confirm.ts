/** The second look at a mismatch, which tells a wrong row from one that is being written. */
import type { ClickHouseClient } from '@clickhouse/client'
import { pause } from '../../../ingest/lib/wait.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { openJobs } from '../../jobs/job.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { PriorityQueue } from '../../store/priority-queue.ts'
import type { Difference } from './differences.ts'
import { type FinalPoint, isStillFinal, readFinalPoint } from './final-point.ts'
import { RECHECK_MS } from './verify.ts'

export type ConfirmOptions = {
  network: NetworkName
  ledger: Ledger
  /** Range overwrites and rewinds, one at a time: the look is a task between two of them. */
  rangeQueue: PriorityQueue
  recheckMs?: number
  signal: AbortSignal
}

/** A job that is under way, or that a crash has cut off, may have written half of a range. */
const RECHECK_BESIDE_JOBS_MS = 600_000

/** Differences that a second read finds, too: between two overwrites, and of blocks that were final before and after it. */
export async function confirmed(
  client: ClickHouseClient,
  options: ConfirmOptions,
  { before }: FinalPoint,
  look: () => Promise<Difference[]>,
): Promise<[found: Difference[], ms: number]> {
  const { network, ledger, rangeQueue, recheckMs = RECHECK_MS, signal } = options
  const jobs = await Promise.all([openJobs(client, network, 'backfill'), openJobs(client, network, 'audit')])
  await pause(jobs.flat().length > 0 ? Math.max(recheckMs, RECHECK_BESIDE_JOBS_MS) : recheckMs, signal)
  return rangeQueue.low(async () => {
    if (signal.aborted) return [[], 0]
    const began = performance.now()
    const now = await readFinalPoint(client, network, ledger)
    const isFinal = now !== undefined && now.before >= before
    const found = isFinal ? await look() : []
    const isStable = found.length > 0 && now !== undefined && (await isStillFinal(client, network, ledger, now))
    return [isStable ? found : [], performance.now() - began]
  })
}
