/** State of a network's writer between two writes, beside the tables. */
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { OpenCandles } from '../candles/open-candles.ts'
import type { RecomputeContext } from '../candles/recompute.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { LedgerObserver } from '../ledger/observer.ts'
import type { Version } from '../store/version.ts'

/** A network whose writer epoch this process holds. */
export type OpenNetwork = {
  state: WriterState
  ledger: Ledger
  observer: LedgerObserver
}

export type WriterState = RecomputeContext & {
  /** Another process may become the writer: the ledger takes nothing of an epoch that is over. */
  isFenced?: boolean
  /** Candles that the stream writes to. */
  open: OpenCandles
  /** The backfill that last wrote where nothing was stored. */
  history: OpenHistory | undefined
  /** The range overwrite in progress, between whose tasks the stream writes. */
  overwriting?: ActiveOverwrite | undefined
  /** Versions of the last flush that is on the ledger; absent before the first. */
  flushed?: FlushMark
  /** Start of the stream's last flush, by `performance.now()`; absent before the first. */
  flushedAt?: number
}

/** Versions of its candles, and of the rows of its last message. */
export type FlushMark = { version: bigint; row: Version }

export type ActiveOverwrite = {
  /** End of the newest day that it writes. */
  until: UnixSeconds
  /** The stream wrote to buckets before `until`: ClickHouse recomputes their candles. */
  isDisturbed: boolean
}

/** Candles of one job's history, valid as long as no other writer touches them. */
export type OpenHistory = {
  job: number
  pools: string
  /** First block of the range that has to come next. */
  next: number
  /** End of the newest day that was written. */
  until: UnixSeconds
  open: OpenCandles
}

/** Call it before anything but that history is written from a second on. */
export function markDisturbed(state: WriterState, from: UnixSeconds): void {
  if (state.history && from < state.history.until) state.history = undefined
  if (state.overwriting && from < state.overwriting.until) state.overwriting.isDisturbed = true
}

/** Longer than the blocks of any network are apart. */
const QUIET_MS = 30_000

/** Nothing has come from the stream for some time. */
export function isStreamQuiet({ flushedAt = Number.NEGATIVE_INFINITY }: WriterState): boolean {
  return performance.now() - flushedAt > QUIET_MS
}

/** Time of the newest block on the ledger; 0 where it is empty. */
export function tipTime(ledger: Ledger): UnixSeconds {
  return ledger.tip?.timestamp ?? 0
}
