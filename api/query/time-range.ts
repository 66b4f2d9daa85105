import type { UnixSeconds } from '../../ingest/model/message.ts'

/** `from ≤ time < to` */
export type Range = { from: UnixSeconds; to: UnixSeconds }
