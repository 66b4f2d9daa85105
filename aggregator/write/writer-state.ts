/** What an aggregator keeps from one write to the next, besides the tables. */
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { OpenBuckets } from '../candles/open-candles.ts'
import type { Remaking } from '../candles/recompute.ts'

export type Keeping = Remaking & {
  /** The buckets that the stream goes on in. */
  open: OpenBuckets
  /** The job that goes on where nobody has written before it. */
  history: OpenHistory | undefined
  /** The restatement that is under way, between whose turns the stream writes. */
  restating?: Restating | undefined
}

export type Restating = {
  /** The end of the newest day that it writes. */
  until: UnixSeconds
  /** Something else was written to buckets before that: its candles are made by the tables. */
  isDisturbed: boolean
}

/** Something else than history is written from a second on. */
export function disturbHistory(keeping: Keeping, from: UnixSeconds): void {
  if (keeping.history && from < keeping.history.until) keeping.history = undefined
  if (keeping.restating && from < keeping.restating.until) keeping.restating.isDisturbed = true
}

/** The buckets that one job's history goes on in, as long as nobody else writes to them. */
export type OpenHistory = {
  job: number
  pools: string
  /** The block that has to come next. */
  next: number
  /** The end of the newest day that was written. */
  until: UnixSeconds
  open: OpenBuckets
}
