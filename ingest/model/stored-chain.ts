/** What the tables already hold of a network's chain, as the listener needs to know it. */

import type { BlockRef } from './message.ts'
import type { Offset } from './tick-log.ts'

export type StoredTip = BlockRef & {
  /** The newest stored block that was final when this one was read; 0 where that is not known. */
  finalized: number
}

export type StoredChain = {
  /** The newest stored block. */
  tip(): Promise<StoredTip | undefined>
  /** The place in the log up to which the tables have taken in what it says, or taken it back; absent where no log keeps anything. */
  passed?(): Promise<Offset>
  /** Stored blocks below `number`, newest first, at most `limit`. */
  below(number: number, limit: number): Promise<BlockRef[]>
}
