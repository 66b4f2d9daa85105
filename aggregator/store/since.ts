/**
 * New rows of a table. ClickHouse has no notification, so a table is polled for rows written after a moment, by its column `written`.
 * Servers of a cluster have clocks of their own, and an insert may be seen after a later one: reads overlap, and each row is returned once.
 */

const OVERLAP_MS = 10_000
const MAX_ROWS = 20_000

/** `written`: milliseconds since 1970. */
export type WrittenRow = { written: number }

export type SinceQuery<Row extends WrittenRow> = {
  /** The time of the server, in milliseconds since 1970. */
  now(): Promise<number>
  /** At most `limit` rows with `written >= since`, in any order. */
  read(places: { since: number; limit: number }): Promise<readonly Row[]>
}

export type Since<Row> = {
  /**
   * The rows that no call before returned; one call at a time. Undefined where any row may be new: at the first call, and where more than
   * `maxRows` are.
   */
  next(): Promise<readonly Row[] | undefined>
}

export function openSince<Row extends WrittenRow>(query: SinceQuery<Row>, maxRows = MAX_ROWS): Since<Row> {
  let since: number | undefined
  const seen = new Map<string, number>()

  return {
    async next() {
      const rows = since === undefined ? undefined : await query.read({ since, limit: maxRows + 1 })
      if (since === undefined || rows === undefined || rows.length > maxRows) {
        since = (await query.now()) - OVERLAP_MS
        seen.clear()
        return undefined
      }
      const found = rows.filter((row) => !seen.has(JSON.stringify(row)))
      for (const row of found) {
        seen.set(JSON.stringify(row), row.written)
        since = Math.max(since, row.written - OVERLAP_MS)
      }
      for (const [key, written] of seen) if (written < since) seen.delete(key)
      return found
    },
  }
}
