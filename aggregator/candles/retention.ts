/** Retention: how long ticks and candles are kept, and from when on candles can still be made of ticks. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import { ask, run } from '../store/store.ts'
import { RESOLUTIONS, type Resolution } from './candle.ts'

/** Days; for ever where absent. */
export type Retention = { ticks: number | undefined; candles: Partial<Record<Resolution, number>> }

const DAY = 86_400

/**
 * ClickHouse drops a part at once when all of its rows have expired, and deletes the expired rows of another part hours later. So a tombstone
 * must outlive its row by far: dropped first, it would let a tick of an orphaned block come back. A candle without trades is such a tombstone.
 */
const TOMBSTONE_DAYS = 30

function expiry(days: number): string {
  return `time + INTERVAL ${days} DAY`
}

/** Sets the tables' TTL, which drops older rows in merges; sends no ALTER where nothing has changed. */
export async function applyRetention(client: ClickHouseClient, retention: Retention): Promise<void> {
  const ticks =
    retention.ticks === undefined
      ? ''
      : `${expiry(retention.ticks)} DELETE WHERE is_deleted = 0, ${expiry(retention.ticks + TOMBSTONE_DAYS)} DELETE WHERE is_deleted = 1`
  const candles = RESOLUTIONS.flatMap((resolution) => {
    const days = retention.candles[resolution]
    if (days === undefined) return []
    return [
      `${expiry(days)} DELETE WHERE resolution = ${resolution} AND trades > 0`,
      `${expiry(days + TOMBSTONE_DAYS)} DELETE WHERE resolution = ${resolution} AND trades = 0`,
    ]
  }).join(', ')
  for (const [table, wanted] of Object.entries({ ticks, candles })) {
    const [row] = await ask<{ rule: string; version: string }>(
      client,
      'SELECT rule, toString(version) AS version FROM retention FINAL WHERE table_name = {table:String}',
      { table },
    )
    if ((row?.rule ?? '') === wanted) continue
    // ClickHouse drops expired rows in the background, so that nothing waits for it, and resumes that after a restart.
    if (wanted !== '') await run(client, `ALTER TABLE ${table} MODIFY TTL ${wanted} SETTINGS alter_sync = 0`, {})
    else await run(client, `ALTER TABLE ${table} REMOVE TTL`, {})
    const days = table === 'ticks' ? (retention.ticks ?? 0) : 0
    await run(client, 'INSERT INTO retention SELECT {table:String}, {wanted:String}, {days:UInt32}, {version:UInt64}', {
      table,
      wanted,
      days,
      // Above the stored one: a clock that once ran ahead would otherwise keep its rule for good.
      version: BigInt(row?.version ?? 0) + 1n,
    })
  }
}

/**
 * Ticks before this second may be gone: a bucket that begins earlier is never recomputed, because it would lose its expired ticks.
 * 0 where ticks are kept for ever.
 */
export async function readHorizon(client: ClickHouseClient): Promise<() => UnixSeconds> {
  const [row] = await ask<{ days: number }>(client, "SELECT days FROM retention FINAL WHERE table_name = 'ticks'", {})
  const days = row?.days ?? 0
  return () => (days === 0 ? 0 : Math.ceil(Date.now() / 1000) - days * DAY)
}

/** The start of the first day without expired ticks. */
export async function oldestWholeDay(client: ClickHouseClient): Promise<UnixSeconds> {
  const horizon = await readHorizon(client)
  return Math.ceil(horizon() / DAY) * DAY
}
