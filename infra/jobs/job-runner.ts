/** Runs the open backfill jobs of a network, one at a time, in the process that owns the tables. */

import { oldestWholeDay } from '../../aggregator/candles/retention.ts'
import { unreadRanges } from '../../aggregator/history/coverage.ts'
import { finishJob, type Job, recordProgress, stopJob } from '../../aggregator/jobs/job.ts'
import { followJob, runJob, runJobs } from '../../aggregator/jobs/runner.ts'
import { storedChain } from '../../aggregator/ledger/stored-blocks.ts'
import { storedPools } from '../../aggregator/store/stored-pools.ts'
import { storedTokens } from '../../aggregator/store/stored-tokens.ts'
import { backfill } from '../../ingest/backfill/backfill.ts'
import type { Estimate } from '../../ingest/backfill/estimate.ts'
import type { HistorySource } from '../../ingest/backfill/history-source.ts'
import { isRefusal } from '../../ingest/model/errors.ts'
import type { RangeOverwrite } from '../../ingest/model/message.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import { type Endpoints, withHistoryPriority } from '../../ingest/rpc/endpoints/endpoints.ts'
import type { Store } from '../clickhouse/store.ts'
import type { NetworkConfig } from '../config/config.ts'
import type { Run } from '../process/run.ts'
import { connectChain } from '../rpc/chain-client.ts'
import { describeError } from '../telemetry/describe-error.ts'
import { estimateText } from './progress.ts'

const WATCH_MS = 1_000

/** Until the signal aborts; jobs that are open then are taken up at the next start. */
export function runBackfills(
  network: NetworkConfig,
  history: TickLog<RangeOverwrite>,
  { store, run }: { store: Store; run: Run },
): Promise<void> {
  const tasks = { backfill: (job: Job) => runBackfill(job, network, history, store, run) }
  return runJobs(store.owner, network.network.name, { tasks, hasOpenJobs: store.hasOpenJobs, signal: run.signal })
}

/** Reads the ranges of the job that are unread, and records in the job's row how it ended. Ends where the job is taken back. */
export async function runBackfill(
  job: Job,
  config: NetworkConfig,
  history: TickLog<RangeOverwrite>,
  store: Store,
  { deployment, report, signal: stop }: Run,
  source?: HistorySource,
): Promise<void> {
  const { network, urls, access, headerProof } = config
  const { id, from, to, maxRequests } = job
  let sent = 0
  const counting: typeof report = (fact) => {
    if (fact.kind === 'rpc-called') sent++
    report(fact)
  }
  const ended = new AbortController()
  const signal = AbortSignal.any([stop, ended.signal])

  async function read(): Promise<void> {
    void followJob(store.owner, job, { signal, everyMs: WATCH_MS, isPatient: true })
      .catch(() => undefined)
      .then(() => ended.abort())
    const budget = deployment.budgets.open(config, store, report)
    const endpoints = withHistoryPriority(
      connectChain(urls, { network, access, headerProof, report: counting, signal, budget }).endpoints,
    )
    const requests = maxRequests === undefined ? undefined : { max: maxRequests, sent: () => sent }
    let said = ''
    const onEstimate = async (estimate: Estimate) => {
      said = estimateText(estimate)
      await recordProgress(store.owner, job, said)
    }
    const parts = { network, source, requests, budget, onEstimate, log: history, report, signal }
    const rest = await backfill(endpoints, { ...parts, ...(await rangesOf(job, endpoints, store)) })
    if (rest === undefined) await finishJob(store.owner, job, said)
    else await stopJob(store.owner, job, stoppedText(job, sent, rest, said))
    report({ kind: rest === undefined ? 'job-done' : 'job-stopped', network: network.name, job: id })
  }

  function onFailed(error: unknown): string | undefined {
    const isTakenBack = ended.signal.aborted
    const kind = isTakenBack || isRefusal(error) ? 'job-refused' : 'job-failed'
    report({ kind, network: network.name, job: id, error: isTakenBack ? new Error(CANCELLED) : error })
    return isTakenBack ? undefined : describeError(error)
  }

  report({ kind: 'job-started', network: network.name, job: id, from, to })
  await runJob(store.owner, job, { first: 'reading', task: read, onFailed, signal: stop })
  ended.abort()
}

/** The ranges that the job has to read, with the options of their reading. */
async function rangesOf(job: Job, endpoints: Endpoints, { owner }: Store) {
  const { id, network, pools, concurrency } = job
  endpoints.finality.wasKnown((await storedChain(owner, network).tip())?.finalized)
  const ranges = await unreadRanges(owner, job)
  const notBefore = await oldestWholeDay(owner)
  return {
    job: id,
    ranges,
    notBefore,
    pools,
    storedPools: storedPools(owner, network),
    storedTokens: storedTokens(owner, network),
    concurrency,
  }
}

/** With the estimate: a job may stop before its state is read for the first time. */
function stoppedText({ maxRequests, again }: Job, sent: number, rest: number, estimated: string): string {
  const [requests, limit] = [sent, maxRequests ?? 0].map((it) => it.toLocaleString('en'))
  return `Stopped after ${requests} requests, before block ${rest}: --max-requests is ${limit}. What is read stays; the same command ${again ? `from --from-block ${rest} on ` : ''}reads the rest.${estimated && ` Its estimate was ${estimated}.`}`
}

/** The reason of a job that its operator has taken back. */
export const CANCELLED = 'It was taken back.'
