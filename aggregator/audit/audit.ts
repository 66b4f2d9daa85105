/** The audit of a network: final blocks, once stored, are asked for again elsewhere, and what is wrong is repaired. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Client } from 'viem'
import { firstChoice } from '../../ingest/audit/audit.ts'
import { createAssembler } from '../../ingest/blocks/assemble.ts'
import type { BlockRange } from '../../ingest/model/block-range.ts'
import type { IngestFact } from '../../ingest/model/fact.ts'
import type { RangeOverwrite } from '../../ingest/model/message.ts'
import type { Network } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import type { Endpoints } from '../../ingest/rpc/endpoints.ts'
import { type AuditRecord, beginRecord, readRecords, writeRecord } from '../history/audit-record.ts'
import { type StoredRange, storedRanges } from '../history/coverage.ts'
import type { AggregatorFact } from '../ledger/fact.ts'
import { storedPools } from '../store/stored-pools.ts'
import { type Comparison, type ComparisonContext, compare } from './audit-compare.ts'
import { loadPrices } from './audit-prices.ts'
import { repair } from './audit-repair.ts'

export type AuditOptions = {
  network: Network
  /** The listener's; all where absent. */
  pools: readonly PoolId[] | undefined
  history: TickLog<RangeOverwrite>
  /** Blocks that nobody could prove are asked for again after this long. */
  againMs?: number
  /** What becomes final block by block is audited together, so often. */
  everyMs?: number
  report: Report<IngestFact | AggregatorFact>
  signal: AbortSignal
}

/** Audits the next few blocks; false where there is nothing to do now. May be repeated after a failure. */
export type AuditStep = () => Promise<boolean>

const FIRST_RANGE_BLOCKS = 250
const MAX_RANGE_BLOCKS = 2_000
/** Ranges grow while they hold fewer: so many are decoded at once without holding up live work. */
const GOOD_RANGE_LOGS = 2_000
/** So many blocks that no receipts prove are asked for again: the newest ones. The audit passes on whatever their number. */
const MAX_UNDECIDED = 1_000
const AGAIN_MS = 600_000
const EVERY_MS = 5_000

export function createAudit(client: ClickHouseClient, endpoints: Endpoints, options: AuditOptions): AuditStep {
  const { network, history, againMs = AGAIN_MS, everyMs = EVERY_MS, signal } = options
  const report = options.report
  let width = FIRST_RANGE_BLOCKS
  /** Where the last range ended: the next one goes on from there with its prices and pools. */
  let going: { stretch: string; next: number; comparer: ComparisonContext; sinceMs: number } | undefined
  let owed: { stretch: StoredRange; block: number }[] = []
  let lookedAt = Number.NEGATIVE_INFINITY

  const goingTo = (stretch: StoredRange, from: number) =>
    going?.stretch === keyOf(stretch.job, stretch.from) && going.next === from ? going : undefined

  async function comparerAt(stretch: StoredRange, from: number): Promise<ComparisonContext> {
    const before = goingTo(stretch, from)
    if (before) return before.comparer
    const wanted = stretch.pools && new Set(stretch.pools)
    // What it meets on the way has been reported when it was stored.
    const assembler = createAssembler(endpoints, network, wanted, () => {}, storedPools(client, network.name))
    const place = { first: stretch.from, pools: stretch.pools, from }
    const unverified = await loadPrices(client, endpoints, network, assembler.usd, place)
    return { network, pools: stretch.pools, assembler, unverified, report }
  }

  async function audit(
    stretch: StoredRange,
    record: AuditRecord,
    { from, to }: BlockRange,
    first: Client,
  ): Promise<void> {
    const comparer = await comparerAt(stretch, from)
    going = undefined
    const { undecided, repairing } = record
    const range = { from, to, first, owed: new Set(repairing), undecided, signal }
    const found = await compare(client, endpoints, comparer, range)
    const counted = count(record, found)
    const wrong = found.wrong.flat().map(({ number }) => number)
    // Half a repair looks whole to the next comparison: that it was begun has to be known.
    const begun = { ...counted, repairing: [...new Set([...repairing, ...wrong])] }
    const standing = wrong.length > 0 ? await writeRecord(client, begun) : counted
    await repair(client, history, stretch, found.wrong, signal)
    const isOpen = (block: number) => block < from || block > to
    await writeRecord(client, {
      ...standing,
      logs: record.logs + found.logs,
      // What a block that was undecided until now had priced is behind us: it is gone through once more.
      next: to < record.next && wrong.length > 0 ? to + 1 : Math.max(record.next, to + 1),
      undecided: newest([...undecided.filter(isOpen), ...found.undecided]),
      repairing: repairing.filter((block) => isOpen(block) || found.undecided.includes(block)),
    })
    going = {
      stretch: keyOf(stretch.job, stretch.from),
      next: to + 1,
      comparer: { ...comparer, unverified: found.unverified },
      sinceMs: performance.now(),
    }
    if (found.logs > 2 * GOOD_RANGE_LOGS) width = Math.max(1, Math.floor(width / 2))
    else if (found.logs < GOOD_RANGE_LOGS) width = Math.min(MAX_RANGE_BLOCKS, width * 2)
    tell(stretch, { from, to }, found)
  }

  function tell({ network, job }: StoredRange, { from, to }: BlockRange, found: Comparison): void {
    const { wrong: _, unverified: __, undecided, ...counts } = found
    const kind = found.wrong.length + undecided.length > 0 ? 'audit-found' : 'audited'
    report({ kind, network, job, from, to, ...counts, undecided: undecided.length })
  }

  return async function step() {
    const { first, finalized } = await firstChoice(endpoints)
    const records = await readRecords(client, network.name)
    const stretches = await storedRanges(client, network.name, options.pools, finalized)
    const recordOf = (stretch: StoredRange) =>
      records.find((it) => it.job === stretch.job && it.first === stretch.from) ?? beginRecord(stretch)
    for (const stretch of stretches) {
      const record = recordOf(stretch)
      if (record.next > stretch.to) continue
      const to = Math.min(stretch.to, record.next + width - 1)
      const before = goingTo(stretch, record.next)
      if (to === stretch.to && before && performance.now() - before.sinceMs < everyMs) continue
      await audit(stretch, record, { from: record.next, to }, first)
      return true
    }
    if (owed.length === 0 && performance.now() - lookedAt > againMs) {
      lookedAt = performance.now()
      owed = stretches.flatMap((stretch) => {
        const { undecided, repairing, next } = recordOf(stretch)
        return [...new Set([...undecided, ...repairing.filter((it) => it < next)])].map((block) => ({ stretch, block }))
      })
    }
    const again = owed.shift()
    if (!again) return false
    const { stretch, block } = again
    await audit(stretch, recordOf(stretch), { from: block, to: block }, first)
    return true
  }
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
