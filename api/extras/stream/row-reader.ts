/** One pool of a feed, as the feed reads it. */
import type { NetworkStates } from '../../market/cache/change-poller.ts'
import type { FeedRow, Reading } from './rows.ts'

/** `tail`: the pool changed only by new blocks since the last reading. */
export type ReadScope = 'tail' | 'all'

export type RowReader = {
  kind: 'candle' | 'tick'
  /** True where the clock, the tip or the coverage has changed the rows, without a trade of the pool: their tail is read. */
  isDue(states: NetworkStates): boolean
  /** `before`: the rows that the readers know. Rejects where the store does not answer. */
  read(before: readonly FeedRow[], scope: ReadScope): Promise<Reading>
  /** The part of the known rows that an answer would have now. */
  shown(rows: readonly FeedRow[]): readonly FeedRow[]
}
