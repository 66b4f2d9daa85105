/** The audit of a network: stored final blocks are read again from another node, and wrong ones are repaired. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Client } from 'viem'
import { firstChoice } from '../../../ingest/audit/audit.ts'
import { createAssembler } from '../../../ingest/blocks/assemble.ts'
import { pause } from '../../../ingest/lib/wait.ts'
import type { BlockRange } from '../../../ingest/model/block-range.ts'
import type { IngestFact } from '../../../ingest/model/fact.ts'
import type { BlockContent, RangeOverwrite } from '../../../ingest/model/message.ts'
import type { Network } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import type { Report } from '../../../ingest/model/report.ts'
import type { TickLog } from '../../../ingest/model/tick-log.ts'
import type { Endpoints } from '../../../ingest/rpc/endpoints/endpoints.ts'
import { type AuditRecord, beginRecord, readRecords, writeRecord } from '../../history/audit-record.ts'
import { isOverwritten, type StoredRange, storedRanges } from '../../history/coverage.ts'
import { failJob, finishJob, openJob, openJobs } from '../../jobs/job.ts'
import type { AggregatorFact } from '../../ledger/fact.ts'
import { storedPools } from '../../store/stored-pools.ts'
import { storedTokens } from '../../store/stored-tokens.ts'
import { type Comparison, type ComparisonContext, compare } from './audit-compare.ts'
import { loadPrices } from './audit-prices.ts'
import { ExpiredHistory } from './expired-history.ts'

export type AuditOptions = {
  network: Network
  /** The listener's; all where absent. */
  pools: readonly PoolId[] | undefined
  history: TickLog<RangeOverwrite>
  /** Blocks without proof, and blocks that no endpoint has, are read again after this long. */
  againMs?: number
  /** A few newly final blocks are audited together, this often. */
  everyMs?: number
  /** The share of final blocks with swaps that are proven though no answer differs, 0 to 1: `PROOF_SHARE`. */
  proofShare?: number
  report: Report<IngestFact | AggregatorFact>
  signal: AbortSignal
}

/** Audits the next few blocks; false where there is nothing to do now. May be repeated after a failure. */
export type AuditStep = () => Promise<boolean>

const FIRST_RANGE_BLOCKS = 250
const MAX_RANGE_BLOCKS = 2_000
/** Ranges grow while they hold fewer logs: this many are decoded at once without delaying live work. */
const GOOD_RANGE_LOGS = 2_000
/** The newest blocks without proof that are read again; older ones are given up. */
const MAX_UNDECIDED = 1_000
const AGAIN_MS = 600_000
/** An audit takes some three requests for any number of blocks: fewer newly final blocks wait. The listener requests finality more often. */
const EVERY_MS = 30_000
const ENOUGH_BLOCKS = 64
const POLL_MS = 100
export const PROOF_SHARE = 0.02

export function createAudit(client: ClickHouseClient, endpoints: Endpoints, options: AuditOptions): AuditStep {
  const { network, history, report, againMs = AGAIN_MS, everyMs = EVERY_MS, signal } = options
  let proofShare = options.proofShare ?? PROOF_SHARE
  let width = FIRST_RANGE_BLOCKS
  /** End of the last range: the next one starts there with its prices and pools. */
  let lastRange: { stored: string; next: number; comparer: ComparisonContext; sinceMs: number } | undefined
  let pending: { stored: StoredRange; block: number }[] = []
  let checkedAt = Number.NEGATIVE_INFINITY
  const expired = new ExpiredHistory(againMs, (error) =>
    report({ kind: 'audit-waiting', network: network.name, error, retryMs: againMs }),
  )

  const lastBefore = (stored: StoredRange, from: number) =>
    lastRange?.stored === keyOf(stored.job, stored.from) && lastRange.next === from ? lastRange : undefined

  async function audit(stored: StoredRange, record: AuditRecord, blocks: BlockRange, first: Client): Promise<void> {
    const { from, to } = blocks
    const comparer =
      lastBefore(stored, from)?.comparer ?? (await openComparison(client, endpoints, options, stored, from))
    lastRange = undefined
    const { undecided, repairing } = record
    const isOfLedger = stored.job === 0
    const range = { from, to, first, pending: new Set(repairing), undecided, isOfLedger, proofShare, signal }
    const found = await compare(client, endpoints, comparer, range)
    // From now on every block is proven: an endpoint has deceived the comparison.
    if (found.isDeceived) proofShare = 1
    const counted = count(record, found)
    const wrong = found.wrong.flat().map(({ number }) => number)
    // The next comparison cannot see that a repair is incomplete, so the record names its blocks before it begins.
    const begun = { ...counted, repairing: [...new Set([...repairing, ...wrong])] }
    const current = wrong.length > 0 ? await writeRecord(client, begun) : counted
    await repair(client, history, stored, found.wrong, signal)
    await writeRecord(client, auditedRecord(current, record, blocks, found, endpoints.voices() > 1))
    lastRange = {
      stored: keyOf(stored.job, stored.from),
      next: to + 1,
      comparer: { ...comparer, unverified: found.unverified },
      sinceMs: performance.now(),
    }
    width = nextWidth(width, found.logs)
    report(auditFact(stored, blocks, found))
  }

  return async function step() {
    const { first, finalized } = await firstChoice(endpoints, everyMs)
    const records = await readRecords(client, network.name)
    const ranges = await storedRanges(client, network.name, options.pools, finalized)
    const recordOf = (stored: StoredRange) => recordIn(records, stored, endpoints.voices() > 1)
    for (const stored of ranges) {
      const record = recordOf(stored)
      if (record.next > stored.to) continue
      const to = Math.min(stored.to, record.next + width - 1)
      const before = lastBefore(stored, record.next)
      const isFew = to === stored.to && to - record.next + 1 < ENOUGH_BLOCKS
      if (isFew && before && performance.now() - before.sinceMs < everyMs) continue
      const range = { from: record.next, to }
      if (await expired.attempt(range.from, () => audit(stored, record, range, first))) return true
    }
    if (pending.length === 0 && performance.now() - checkedAt > againMs) {
      checkedAt = performance.now()
      pending = ranges.flatMap((stored) => pendingBlocks(recordOf(stored)).map((block) => ({ stored, block })))
    }
    const again = pending.shift()
    if (!again) return false
    const { stored, block } = again
    await expired.attempt(block, () => audit(stored, recordOf(stored), { from: block, to: block }, first))
    return true
  }
}

/** Blocks that were read again from the only endpoint are compared once there is another one. */
function recordIn(records: readonly AuditRecord[], stored: StoredRange, isCompared: boolean): AuditRecord {
  const record = records.find((it) => it.job === stored.job && it.first === stored.from) ?? beginRecord(stored)
  return isCompared ? { ...record, next: Math.min(record.next, record.compared) } : record
}

async function openComparison(
  client: ClickHouseClient,
  endpoints: Endpoints,
  { network, report }: AuditOptions,
  stored: StoredRange,
  from: number,
): Promise<ComparisonContext> {
  const wanted = stored.pools && new Set(stored.pools)
  // Facts about these pools were reported when they were stored.
  const [pools, tokens] = [storedPools(client, network.name), storedTokens(client, network.name)]
  const assembler = createAssembler(endpoints, network, wanted, () => {}, pools, tokens)
  await assembler.meetHooks(undefined)
  const place = { first: stored.from, pools: stored.pools, from }
  const unverified = await loadPrices(client, endpoints, network, assembler.usd, place)
  return { network, pools: stored.pools, assembler, unverified, report }
}

/** `current` is the record as it is stored, `before` as it was before this range. */
function auditedRecord(
  current: AuditRecord,
  before: AuditRecord,
  { from, to }: BlockRange,
  found: Comparison,
  hasOthers: boolean,
): AuditRecord {
  const { undecided, repairing } = before
  const isOutside = (block: number) => block < from || block > to
  // A repaired block may change the prices of later ones: after an older range all that follows is audited again.
  const next = to < before.next && found.wrong.length > 0 ? to + 1 : Math.max(before.next, to + 1)
  return {
    ...current,
    logs: before.logs + found.logs,
    next,
    compared: hasOthers ? next : Math.min(before.compared, next),
    comparedAt: found.isCompared ? Math.floor(Date.now() / 1000) : before.comparedAt,
    undecidedTimes: new Map([...before.undecidedTimes, ...found.undecidedTimes]),
    undecided: newest([...undecided.filter(isOutside), ...found.undecided]),
    repairing: repairing.filter((block) => isOutside(block) || found.undecided.includes(block)),
  }
}

function auditFact({ network, job }: StoredRange, { from, to }: BlockRange, found: Comparison): AggregatorFact {
  const { logs, mismatched, omitted, invented, repriced, undecided } = found
  const counts = { logs, mismatched, omitted, invented, repriced }
  const kind = found.wrong.length + undecided.length > 0 ? 'audit-found' : 'audited'
  return { kind, network, job, from, to, ...counts, undecided: undecided.length }
}

/** Blocks of the next range: half after one with too many logs, double after one with few. */
function nextWidth(width: number, logs: number): number {
  if (logs > 2 * GOOD_RANGE_LOGS) return Math.max(1, Math.floor(width / 2))
  return logs < GOOD_RANGE_LOGS ? Math.min(MAX_RANGE_BLOCKS, width * 2) : width
}

/** Audited blocks without proof, or whose repair may be incomplete. */
function pendingBlocks({ undecided, repairing, next }: AuditRecord): number[] {
  return [...new Set([...undecided, ...repairing.filter((block) => block < next)])]
}

function count(record: AuditRecord, found: Comparison): AuditRecord {
  return {
    ...record,
    mismatched: record.mismatched + found.mismatched,
    omitted: record.omitted + found.omitted,
    invented: record.invented + found.invented,
    repriced: record.repriced + found.repriced,
  }
}

function newest(blocks: readonly number[]): number[] {
  return [...blocks].sort((a, b) => a - b).slice(-MAX_UNDECIDED)
}

function keyOf(job: number, first: number): string {
  return `${job} from ${first}`
}

/** Overwrites the stored rows of final blocks by their proven content. Resolves once all of it is stored, candles too. May be repeated: the last repair counts. */
async function repair(
  client: ClickHouseClient,
  history: TickLog<RangeOverwrite>,
  { network, pools }: StoredRange,
  runs: readonly (readonly BlockContent[])[],
  signal: AbortSignal,
): Promise<void> {
  const blocks = runs.flat()
  const [from, to] = [blocks[0]?.number, blocks.at(-1)?.number]
  if (from === undefined || to === undefined) return
  for (const job of await openJobs(client, network, 'audit')) await failJob(client, job, 'It was cut off.')
  // The highest job number so far: its rows beat those of every earlier job, also late ones.
  const job = await openJob(client, { network, from, to, pools, concurrency: 1 }, 'audit')
  const overwrites = runs.flatMap((run): RangeOverwrite[] => {
    const [first, last] = [run[0], run.at(-1)]
    if (!first || !last) return []
    const ends = { from: first.number, to: last.number, firstTimestamp: first.timestamp }
    const { timestamp, hash } = last
    return [{ kind: 'restatement', network, job: job.id, pools, ...ends, timestamp, hash, blocks: run }]
  })
  await history.append(overwrites)
  for (const overwrite of overwrites) {
    // In a cluster, appended is not stored yet.
    while (!(await isOverwritten(client, overwrite))) {
      await pause(POLL_MS, signal)
      signal.throwIfAborted()
    }
  }
  await finishJob(client, job)
}
