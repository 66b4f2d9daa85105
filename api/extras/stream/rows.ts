/** The rows that the readers of a feed know of one pool, and the changes from them to the rows of a newer answer. */
import type { UnixSeconds } from '../../../ingest/model/message.ts'

/** `key`: a tick's id or a candle's time, as it is written in `json`, the row of the answer. */
export type FeedRow = { key: string; time: UnixSeconds; json: string }

export function feedRow(key: string, time: UnixSeconds, row: object): FeedRow {
  return { key, time, json: JSON.stringify(row) }
}

/** `from`: older rows are no longer watched, and leave without an event. `isCut`: rows between the known ones and these are left out. */
export type Reading = { rows: readonly FeedRow[]; from: UnixSeconds; isCut: boolean }

/** In the order of the events: removed rows, newest first, then new or different ones, oldest first. */
export type RowDifference = { retracted: readonly FeedRow[]; changed: readonly FeedRow[] }

/** Rows that were sent to readers. `shown`: keys of the rows in the last answer; a reader may keep only these. */
export type Known = { rows: readonly FeedRow[]; shown: ReadonlySet<string> }

/** `shown`: the rows of the newer answer. A row that comes back into it is sent again. */
export function difference(
  known: Known,
  { rows, from }: Omit<Reading, 'isCut'>,
  shown: readonly FeedRow[],
): RowDifference {
  const jsonOf = new Map(known.rows.map((row) => [row.key, row.json]))
  const kept = new Set(rows.map(({ key }) => key))
  const entered = new Set(shown.flatMap(({ key }) => (known.shown.has(key) ? [] : [key])))
  return {
    retracted: known.rows.filter(({ key, time }) => time >= from && !kept.has(key)).reverse(),
    changed: rows.filter(({ key, json }) => jsonOf.get(key) !== json || entered.has(key)),
  }
}
