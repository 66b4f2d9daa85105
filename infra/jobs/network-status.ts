/** How far a network is read, stored and audited, and the gaps in between. */

import { readVerification, type Verification } from '../../aggregator/extras/verify/position.ts'
import { type AuditRecord, readRecords } from '../../aggregator/history/audit-record.ts'
import { gapsBetween, knownRanges } from '../../aggregator/history/known-ranges.ts'
import type { KnownRange } from '../../aggregator/history/ledger-runs.ts'
import { type JobKind, type JobState, recentJobs } from '../../aggregator/jobs/job.ts'
import { type Halt, readHalts } from '../../aggregator/ledger/halts.ts'
import { newestBlock } from '../../aggregator/ledger/stored-blocks.ts'
import { ask } from '../../aggregator/store/store.ts'
import type { BlockRange } from '../../ingest/model/block-range.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { type BudgetLimits, dayOf } from '../../ingest/rpc/endpoints/request-budget.ts'
import { voicesOf } from '../../ingest/rpc/voice.ts'
import type { Store } from '../clickhouse/store.ts'
import type { Config } from '../config/config.ts'
import { configuredNetwork, configuredNetworks } from '../config/networks.ts'
import { readRequestCount } from '../process/request-budgets.ts'
import { readHead } from '../rpc/chain-client.ts'
import { readProgress } from './progress.ts'

export type NetworkSummary = {
  network: NetworkName
  /** The chain's newest block; absent where no endpoint is configured or none answers. */
  head?: number
  /** Endpoints that count as voices of their own; absent where none is configured. */
  voices?: number
  /** The newest block that the listener has stored. */
  tip?: { number: number; time: UnixSeconds }
  lag?: { seconds: number; blocks?: number }
  /** The oldest stored block. */
  first?: number
  /** Complete ranges, and the gaps between them. */
  known: readonly KnownRange[]
  gaps: readonly KnownRange[]
  /** Halted stages. */
  halts: readonly Halt[]
  /** Open ones first, then the newest. */
  jobs: readonly JobStatus[]
  /** Absent before the first audit. */
  audit?: AuditSums
  /** The permanent verification; absent before its first slices. */
  verification?: VerificationStatus
  /** The request budget; absent where the network has none. */
  budget?: BudgetStatus
}

/** `mismatches` counts this pass; `passed` is the end of the last whole pass, absent before it. */
export type VerificationStatus = Pick<
  Verification,
  'phase' | 'month' | 'block' | 'began' | 'mismatches' | 'passes' | 'passedMismatches'
> & { passed?: UnixSeconds; newest?: string }

/** `used`: requests of this UTC day that count against it; present where the budget has a limit a day. */
export type BudgetStatus = BudgetLimits & { used?: number }

/** The range is one of blocks, of a rebuild one of seconds since 1970. */
export type JobStatus = BlockRange & {
  id: number
  kind: JobKind
  /** `waiting`: no process has taken it yet. */
  state: Exclude<JobState, 'open'> | 'waiting' | 'running'
  /** The stored share of an open backfill's blocks, 0 to 1. */
  share?: number
  /** How far it is, or why it failed. */
  reason: string
}

/** Sums over all audited blocks, of the listener and of all backfills. */
export type AuditSums = Pick<AuditRecord, 'logs' | 'mismatched' | 'omitted' | 'invented' | 'repriced'> & {
  /** The newest block of the listener's that was compared with another voice. */
  upTo?: number
  /** When blocks were last compared with another voice; absent where none ever were. */
  comparedAt?: UnixSeconds
  /** Blocks without proof by any endpoint, and blocks whose repair is under way. */
  undecided: number
  repairing: number
}

/** Configured networks, then others with stored rows. */
export async function networksOf({ owner }: Store, config: Config): Promise<NetworkName[]> {
  const configured = configuredNetworks(config).map((it) => it.network.name)
  const stored = await ask<{ network: NetworkName }>(
    owner,
    'SELECT DISTINCT network FROM (SELECT DISTINCT network FROM blocks UNION ALL SELECT DISTINCT network FROM coverage UNION ALL SELECT DISTINCT network FROM jobs) ORDER BY network',
    {},
  )
  return [...new Set([...configured, ...stored.map((it) => it.network)])]
}

export async function summarize(
  store: Store,
  config: Config,
  network: NetworkName,
  now: UnixSeconds,
): Promise<NetworkSummary> {
  const { owner } = store
  const { pools } = config
  const { urls, access, budget } = configuredNetwork(config, network) ?? {}
  const [head, newest, known, records, halts, jobs, verification, used] = await Promise.all([
    urls ? readHead(urls, access) : undefined,
    newestBlock(owner, network),
    knownRanges(owner, network, pools && [...pools]),
    readRecords(owner, network),
    readHalts(owner, [network]),
    jobsOf(store, network),
    readVerification(owner, network),
    budget?.perDay === undefined ? undefined : readRequestCount(owner, network, dayOf(now * 1_000)),
  ])
  const [oldest] = known
  const tip = newest && { number: newest.number, time: newest.timestamp }
  return {
    network,
    ...(head && { head: head.number }),
    ...(urls && { voices: new Set(voicesOf(urls)).size }),
    ...(tip && { tip, lag: lagOf(tip, head?.number, now) }),
    ...(oldest && { first: oldest.from }),
    known,
    gaps: gapsBetween(known),
    halts,
    jobs,
    ...(records.length > 0 && { audit: sumsOf(records) }),
    ...(verification && { verification: verificationStatus(verification) }),
    ...(budget && { budget: { ...budget, ...(used !== undefined && { used }) } }),
  }
}

const SHOWN_JOBS = 20

async function jobsOf(store: Store, network: NetworkName): Promise<JobStatus[]> {
  const jobs = await recentJobs(store.owner, network, SHOWN_JOBS)
  return Promise.all(
    jobs.map(async (job) => {
      const { id, kind, from, to, reason } = job
      const state = job.state !== 'open' ? job.state : reason === '' ? 'waiting' : 'running'
      const isUnderWay = job.state === 'open' && kind === 'backfill'
      const share = isUnderWay ? (await readProgress(store, job)).blocks / (to - from + 1) : undefined
      return { id, kind, from, to, state, ...(share !== undefined && { share }), reason }
    }),
  )
}

function lagOf(tip: { number: number; time: UnixSeconds }, head: number | undefined, now: UnixSeconds) {
  const seconds = Math.max(0, now - tip.time)
  return { seconds, ...(head !== undefined && { blocks: Math.max(0, head - tip.number) }) }
}

function sumsOf(records: readonly AuditRecord[]): AuditSums {
  const sum = (of: (record: AuditRecord) => number) => records.reduce((total, record) => total + of(record), 0)
  const comparedAt = Math.max(...records.map((record) => record.comparedAt))
  const live = records.filter(({ job, compared, first }) => job === 0 && compared > first)
  return {
    ...(live.length > 0 && { upTo: Math.max(...live.map(({ compared }) => compared - 1)) }),
    ...(comparedAt > 0 && { comparedAt }),
    logs: sum(({ logs }) => logs),
    mismatched: sum(({ mismatched }) => mismatched),
    omitted: sum(({ omitted }) => omitted),
    invented: sum(({ invented }) => invented),
    repriced: sum(({ repriced }) => repriced),
    undecided: sum(({ undecided }) => undecided.length),
    repairing: sum(({ repairing }) => repairing.length),
  }
}

function verificationStatus({ passed, newest, ...all }: Verification): VerificationStatus {
  const { phase, month, block, began, mismatches, passes, passedMismatches } = all
  return {
    ...{ phase, month, block, began, mismatches, passes, passedMismatches },
    ...(passed > 0 && { passed }),
    ...(newest !== '' && { newest }),
  }
}

export function blocksIn(ranges: readonly BlockRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0)
}
