/** What an aggregator keeps from one write to the next, besides the tables. */
import type { UnixSeconds } from '../ingest/message.ts'
import type { OpenBuckets } from './open-buckets.ts'
import type { Remaking } from './recompute.ts'

export type Keeping = Remaking & {
  /** The buckets that the stream goes on in. */
  open: OpenBuckets
  /** The job that goes on where nobody has written before it. */
  history: OpenHistory | undefined
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
