/** Writes the meters' counts to the store, every second and once more at the end. */
import type { ClickHouseClient } from '@clickhouse/client'
import { serial } from '../../ingest/lib/serial.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { ApiFact } from '../lib/fact.ts'
import { insertJson, readSql } from '../lib/store.ts'
import { type Count, type Meter, SETTLED_SECONDS } from './credits.ts'
import type { KeyHash } from './keys.ts'

export type UsageWriter = {
  watch(hash: KeyHash, meter: Meter): void
  close(): Promise<void>
}

const INSERT = readSql(new URL('./usage-insert.sql', import.meta.url))

const FLUSH_MS = 1_000

export function openUsageWriter(options: {
  client: ClickHouseClient
  /** Names this run of the process: its counts start at zero. */
  instance: string
  clock: () => Date
  report: Report<ApiFact>
}): UsageWriter {
  const { client, instance, clock, report } = options
  const meters = new Map<KeyHash, Meter>()
  /** A count that grows is another object. */
  const stored = new WeakSet<Count>()
  const serialize = serial()
  const timer = setInterval(() => void flush(), FLUSH_MS).unref()
  let version = 0

  function flush(): Promise<boolean> {
    return serialize(async () => {
      const counts = [...meters].flatMap(([hash, { minutes }]) =>
        [...minutes].flatMap(([minute, count]) => (stored.has(count) ? [] : [{ hash, minute, count }])),
      )
      if (counts.length === 0) return true
      try {
        version += 1
        const rows = counts.map(({ hash, minute, count }) => ({ hash, minute, ...count, instance, version }))
        await insertJson(client, INSERT, rows)
      } catch (error) {
        // Counts are absolute and stay in memory, so that the next write repeats them.
        report({ kind: 'usage-not-stored', rows: counts.length, error })
        return false
      }
      for (const { count } of counts) stored.add(count)
      const oldest = Math.floor(clock().getTime() / 1000) - SETTLED_SECONDS
      for (const { minutes } of meters.values())
        for (const [minute, count] of minutes) if (minute < oldest && stored.has(count)) minutes.delete(minute)
      report({ kind: 'usage-stored', rows: counts.length })
      return true
    })
  }

  return {
    watch: (hash, meter) => void meters.set(hash, meter),
    async close() {
      clearInterval(timer)
      if (!(await flush())) await flush()
    },
  }
}
