/** What an aggregator keeps from one write to the next, besides the tables. */
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { OpenCandles } from '../candles/open-candles.ts'
import type { RecomputeContext } from '../candles/recompute.ts'

export type WriterState = RecomputeContext & {
  /** The buckets that the stream goes on in. */
  open: OpenCandles
  /** The job that goes on where nobody has written before it. */
  history: OpenHistory | undefined
  /** The restatement that is under way, between whose turns the stream writes. */
  overwriting?: ActiveOverwrite | undefined
}

export type ActiveOverwrite = {
  /** The end of the newest day that it writes. */
  until: UnixSeconds
  /** Something else was written to buckets before that: its candles are made by the tables. */
  isDisturbed: boolean
}

/** Something else than history is written from a second on. */
export function markDisturbed(state: WriterState, from: UnixSeconds): void {
  if (state.history && from < state.history.until) state.history = undefined
  if (state.overwriting && from < state.overwriting.until) state.overwriting.isDisturbed = true
}

/** The buckets that one job's history goes on in, as long as nobody else writes to them. */
export type OpenHistory = {
  job: number
  pools: string
  /** The block that has to come next. */
  next: number
  /** The end of the newest day that was written. */
  until: UnixSeconds
  open: OpenCandles
}
