/** Writes the meters' counts to the store, every second and once more at the end. */
import type { ClickHouseClient } from '@clickhouse/client'
import { serial } from '../../ingest/lib/serial.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
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

type UsageRow = { hash: KeyHash; minute: UnixSeconds } & Count

export function openUsageWriter(options: {
  client: ClickHouseClient
  /** Names this run of the process: its counts start at zero. */
  instance: string
  clock: () => Date
  report: Report<ApiFact>
  flushMs: number
}): UsageWriter {
  const { client, instance, clock, report, flushMs } = options
  const counts = openUnstoredCounts()
  const serialize = serial()
  const timer = setInterval(() => void flush(), flushMs).unref()
  let version = 0

  function flush(): Promise<boolean> {
    return serialize(async () => {
      const rows = counts.unstored()
      if (rows.length === 0) return true
      try {
        version += 1
        const values = rows.map((row) => ({ ...row, instance, version }))
        await insertJson(client, INSERT, values)
      } catch (error) {
        // Counts are absolute and stay in memory, so that the next write repeats them.
        report({ kind: 'usage-not-stored', rows: rows.length, error })
        return false
      }
      counts.markStored(rows)
      counts.prune(Math.floor(clock().getTime() / 1000) - SETTLED_SECONDS)
      report({ kind: 'usage-stored', rows: rows.length })
      return true
    })
  }

  return {
    watch: counts.watch,
    async close() {
      clearInterval(timer)
      if (!(await flush())) await flush()
    },
  }
}

/** The counts of all meters by minute, and which of them are stored as they are. */
function openUnstoredCounts() {
  const meters = new Map<KeyHash, Meter>()
  const stored = new Map<string, Count>()

  function isStored({ hash, minute, credits, calls }: UsageRow): boolean {
    const before = stored.get(`${hash}:${minute}`)
    return before?.credits === credits && before.calls === calls
  }

  return {
    watch(hash: KeyHash, meter: Meter): void {
      meters.set(hash, meter)
    },
    unstored(): readonly UsageRow[] {
      return [...meters].flatMap(([hash, { minutes }]) =>
        [...minutes].map(([minute, count]) => ({ hash, minute, ...count })).filter((row) => !isStored(row)),
      )
    },
    markStored(rows: readonly UsageRow[]): void {
      for (const { hash, minute, credits, calls } of rows) stored.set(`${hash}:${minute}`, { credits, calls })
    },
    /** Drops the stored counts of the minutes before `oldest`. */
    prune(oldest: UnixSeconds): void {
      for (const [hash, meter] of meters) {
        for (const [minute, count] of meter.minutes) {
          if (minute >= oldest || !isStored({ hash, minute, ...count })) continue
          meter.minutes.delete(minute)
          stored.delete(`${hash}:${minute}`)
        }
      }
    },
  }
}
