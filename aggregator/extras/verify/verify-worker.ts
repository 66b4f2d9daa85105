/**
 * The permanent verification: the comparisons of `npm run verify`, slice by slice for as long as the writer runs, with a share of a core. It runs
 * in the process that writes, so a mismatch is read again while no job overwrites anything, below what the stream may still change.
 */
import type { ClickHouseClient } from '@clickhouse/client'
import { backOff, pause } from '../../../ingest/lib/wait.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { Report } from '../../../ingest/model/report.ts'
import type { WriterWorker } from '../../aggregate.ts'
import type { AggregatorFact } from '../../ledger/fact.ts'
import type { PriorityQueue } from '../../store/priority-queue.ts'
import { nextBlockSlice, nextCoverageSlice } from './block-slices.ts'
import { nextCandleSlice } from './candle-slices.ts'
import { type ConfirmOptions, confirmed } from './confirm.ts'
import type { Difference } from './differences.ts'
import { type FinalPoint, readFinalPoint, readOldestSecond } from './final-point.ts'
import { describeMismatch, mismatchFact } from './mismatch.ts'
import {
  advance,
  firstPass,
  passed,
  positionOf,
  readVerification,
  type Verification,
  writeVerification,
} from './position.ts'
import { SLICE_BOUNDS, type SliceBounds, type SliceContext } from './slice.ts'

export type VerifyShare = {
  /** A part of one core: 0.01 is a hundredth. */
  share: number
  bounds?: SliceBounds
  /** A mismatch is read again after this. */
  recheckMs?: number
  /** The position is saved this often. */
  saveMs?: number
  /** Between two passes, and while nothing is final. */
  restMs?: number
}

export type VerifyWorkerOptions = VerifyShare &
  ConfirmOptions & {
    /** A slice waits until it has been idle for a moment. */
    writeQueue: PriorityQueue
    report: Report<AggregatorFact>
  }

/** While the stream catches up, its batches follow each other sooner than that. */
const IDLE_MS = 50
const REST_MS = 5_000
const SAVE_MS = 30_000
/** Maximum age of the bounds of a verification. */
const BOUNDS_MS = 10_000
/** Mismatches of a slice that are reported one by one. */
const MAX_REPORTED = 10
const RETRY = { firstMs: 5_000, maxMs: 60_000 }

const SLICES = { candles: nextCandleSlice, blocks: nextBlockSlice, coverage: nextCoverageSlice } as const

/** Verifies beside a writer. */
export function verifying(share: VerifyShare): WriterWorker {
  return (client, writer) => runVerifyWorker(client, { ...writer, ...share })
}

/** Returns when the signal aborts. Failures are retried without a limit. */
export async function runVerifyWorker(client: ClickHouseClient, options: VerifyWorkerOptions): Promise<void> {
  const { network, share, restMs = REST_MS, writeQueue, report, signal } = options
  const verifier = createVerifier(client, options)
  for (let attempt = 0; !signal.aborted; ) {
    while (!signal.aborted && writeQueue.idleMs < IDLE_MS) await pause(IDLE_MS, signal)
    if (signal.aborted) break
    try {
      const { ms, isMore } = await verifier.step()
      attempt = 0
      // The share of a slice is the time of its statements, each of one thread, in the time up to the next slice.
      await pause(Math.max(isMore ? 0 : restMs, ms / share - ms), signal)
    } catch (error) {
      if (signal.aborted) break
      attempt++
      const failed = (error: unknown, retryMs: number) => report({ kind: 'verify-failed', network, error, retryMs })
      await backOff(error, attempt, { ...RETRY, signal, failed })
    }
  }
  await verifier.save().catch(() => undefined)
}

/** `ms` was spent in statements; `isMore` is false at the end of a pass. */
type VerifyStep = { ms: number; isMore: boolean }

function createVerifier(client: ClickHouseClient, options: VerifyWorkerOptions) {
  const { network, ledger, report, signal, bounds = SLICE_BOUNDS, saveMs = SAVE_MS } = options
  let verification: Verification | undefined
  let limits: { point: FinalPoint; oldest: UnixSeconds; readAt: number } | undefined
  let savedAt = performance.now()

  async function save(): Promise<void> {
    if (!verification) return
    verification = await writeVerification(client, network, verification)
    savedAt = performance.now()
  }

  async function contextNow(): Promise<SliceContext | undefined> {
    if (!limits || performance.now() - limits.readAt > BOUNDS_MS) {
      const [point, oldest] = [await readFinalPoint(client, network, ledger), await readOldestSecond(client, network)]
      limits = point && oldest !== undefined ? { point, oldest, readAt: performance.now() } : undefined
    }
    return limits && { client, network, bounds, point: limits.point, oldest: limits.oldest }
  }

  async function step(): Promise<VerifyStep> {
    const began = performance.now()
    const context = await contextNow()
    if (!context) return { ms: performance.now() - began, isMore: false }
    let at = verification ?? (await readVerification(client, network)) ?? firstPass()
    const { phase } = at
    const slice = await SLICES[phase](context, positionOf(at))
    let ms = performance.now() - began
    if (slice) {
      const [found, more] = slice.recheck ? await confirmed(client, options, context.point, slice.recheck) : [[], 0]
      ms += more
      if (signal.aborted) return { ms, isMore: true }
      at = tell(network, report, found, at)
      report({ kind: 'verified', network, phase, until: slice.until, rows: slice.rows, mismatches: found.length, ms })
      if (found.length > 0) savedAt = Number.NEGATIVE_INFINITY
    }
    const next = advance(at, slice?.next)
    verification = next ?? passed(at)
    if (!next) {
      const { passes, mismatches, began } = { ...at, passes: verification.passes }
      report({ kind: 'verify-passed', network, passes, mismatches, since: began, until: context.point.before })
    }
    const saving = performance.now()
    if (!next || saving - savedAt > saveMs) await save()
    return { ms: ms + performance.now() - saving, isMore: next !== undefined }
  }

  return { step, save }
}

/** Reports them, and counts them in. */
function tell(
  network: NetworkName,
  report: Report<AggregatorFact>,
  found: readonly Difference[],
  at: Verification,
): Verification {
  const facts = found.slice(0, MAX_REPORTED).map((one) => mismatchFact(network, one))
  for (const fact of facts) report(fact)
  const [newest] = facts
  const mismatches = at.mismatches + found.length
  return { ...at, mismatches, ...(newest && { newest: describeMismatch(newest) }) }
}
