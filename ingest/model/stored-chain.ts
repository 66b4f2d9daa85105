/** The stored part of a network's chain, as the listener reads it. */

import type { BlockRef } from './message.ts'
import type { Offset } from './tick-log.ts'

export type StoredTip = BlockRef & {
  /** Number of the newest final block when this one was read; 0 where unknown. */
  finalized: number
}

export type StoredChain = {
  /** The newest stored block. */
  tip(): Promise<StoredTip | undefined>
  /** Offset in the log up to which the tables have processed messages; absent where the log keeps none. */
  passed?(): Promise<Offset>
  /** Number of the newest rewind that is done, 0 where there was none; undefined where the tables do not answer. */
  newestRewind?(): Promise<number | undefined>
  /** Stored blocks below `number`, newest first, at most `limit`. */
  below(number: number, limit: number): Promise<BlockRef[]>
}
