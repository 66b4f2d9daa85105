/** Brings the meters' counts to the store, every second and once more at the end. */
import { Readable } from 'node:stream'
import type { ClickHouseClient } from '@clickhouse/client'
import { whenIdle } from '../../ingest/lib/live-priority.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { ApiFact } from '../lib/fact.ts'
import { readSql } from '../lib/store.ts'
import { type Count, type Meter, SETTLED_SECONDS } from './credits.ts'
import type { KeyHash } from './keys.ts'

export type UsageWriter = {
  watch(hash: KeyHash, meter: Meter): void
  close(): Promise<void>
}

const INSERT = readSql(new URL('./usage-insert.sql', import.meta.url))

type UsageRow = {
  hash: KeyHash
  minute: UnixSeconds
  instance: string
  credits: number
  calls: number
  version: number
}

export function usageWriter(options: {
  client: ClickHouseClient
  /** Names this run of the process: its counts start at nothing. */
  instance: string
  clock: () => Date
  report: Report<ApiFact>
  flushMs: number
}): UsageWriter {
  const { client, instance, clock, report, flushMs } = options
  const meters = new Map<KeyHash, Meter>()
  const stored = new Map<string, Count>()
  let version = 0
  let last: Promise<boolean> = Promise.resolve(true)
  const timer = setInterval(() => void whenIdle().then(flush), flushMs).unref()

  function isStored(hash: KeyHash, minute: UnixSeconds, count: Count): boolean {
    const before = stored.get(`${hash}:${minute}`)
    return before?.credits === count.credits && before.calls === count.calls
  }

  function grown(): UsageRow[] {
    const rows: UsageRow[] = []
    version += 1
    for (const [hash, meter] of meters) {
      for (const [minute, count] of meter.minutes) {
        if (isStored(hash, minute, count)) continue
        rows.push({ hash, minute, instance, ...count, version })
      }
    }
    return rows
  }

  function forgetOld(): void {
    const oldest = Math.floor(clock().getTime() / 1000) - SETTLED_SECONDS
    for (const [hash, meter] of meters) {
      for (const [minute, count] of meter.minutes) {
        if (minute >= oldest || !isStored(hash, minute, count)) continue
        meter.minutes.delete(minute)
        stored.delete(`${hash}:${minute}`)
      }
    }
  }

  async function write(): Promise<boolean> {
    const rows = grown()
    if (rows.length === 0) return true
    try {
      const body = rows.map((row) => JSON.stringify(row)).join('\n')
      const result = await client.exec({
        query: INSERT,
        values: Readable.from([body]),
        clickhouse_settings: { async_insert: 0, insert_deduplicate: 0 },
      })
      result.stream.resume()
      for (const row of rows) stored.set(`${row.hash}:${row.minute}`, { credits: row.credits, calls: row.calls })
      forgetOld()
      report({ kind: 'usage-stored', rows: rows.length })
      return true
    } catch (error) {
      // The counts stay in memory and are absolute, so the next write says it all again.
      report({ kind: 'usage-not-stored', rows: rows.length, error })
      return false
    }
  }

  function flush(): Promise<boolean> {
    last = last.then(write)
    return last
  }

  return {
    watch(hash, meter) {
      meters.set(hash, meter)
    },
    async close() {
      clearInterval(timer)
      if (!(await flush())) await flush()
    },
  }
}
