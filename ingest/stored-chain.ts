/** What the tables already hold of a network's chain, as the listener needs to know it. */
import type { BlockRef } from './message.ts'

export type StoredChain = {
  /** The newest stored block. */
  tip(): Promise<BlockRef | undefined>
  /** Stored blocks below `number`, newest first, at most `limit`. */
  below(number: number, limit: number): Promise<BlockRef[]>
}
