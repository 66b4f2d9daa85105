/** Changes that nobody has told of: whether there are any is counted, and nothing costs less to ask. */
import type { ClickHouseClient } from '@clickhouse/client'
import { queryRows, readSql } from '../../lib/store.ts'

const COUNT = readSql(new URL('./changes-count.sql', import.meta.url))

export type Unheard = {
  /** So many rows have been told of. */
  hear(rows: number): void
  /**
   * Whether there are other rows than there were. While flushes are being heard of, those of one that is about to be told are not worth
   * a look: it will have been heard of by the next time.
   */
  isThere(isHearing: boolean): Promise<boolean>
}

export function unheardChanges(reader: ClickHouseClient): Unheard {
  let counted: number | undefined
  let wasOther = false
  return {
    hear(rows) {
      if (counted !== undefined) counted += rows
    },
    async isThere(isHearing) {
      const [row] = await queryRows<{ changes: string }>(reader, COUNT)
      const changes = Number(row?.changes)
      const isOther = changes !== counted
      const isNews = isOther && (wasOther || !isHearing)
      if (isNews) counted = changes
      wasOther = isOther && !isNews
      return isNews
    },
  }
}
