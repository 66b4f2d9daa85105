import type { UnixSeconds } from '../../ingest/model/message.ts'

/** `from ≤ time < to` */
export type TimeRange = { from: UnixSeconds; to: UnixSeconds }
