/** Retention: how long ticks and candles are kept, and from when on candles can still be made of ticks. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../ingest/message.ts'
import { RESOLUTIONS, type Resolution } from './candle.ts'
import { ask, run } from './store.ts'

/** Days; for ever where absent. */
export type Retention = { ticks: number | undefined; candles: Partial<Record<Resolution, number>> }

const DAY = 86_400

/** Tells the tables, which drop what is older when they merge their parts; nothing is asked of them where nothing has changed. */
export async function applyRetention(client: ClickHouseClient, retention: Retention): Promise<void> {
  const ticks = retention.ticks === undefined ? '' : `time + INTERVAL ${retention.ticks} DAY`
  const candles = RESOLUTIONS.flatMap((resolution) => {
    const days = retention.candles[resolution]
    return days === undefined ? [] : [`time + INTERVAL ${days} DAY DELETE WHERE resolution = ${resolution}`]
  }).join(', ')
  for (const [table, wanted] of Object.entries({ ticks, candles })) {
    const [row] = await ask<{ rule: string }>(
      client,
      'SELECT rule FROM retention FINAL WHERE table_name = {table:String}',
      { table },
    )
    if ((row?.rule ?? '') === wanted) continue
    if (wanted !== '') await run(client, `ALTER TABLE ${table} MODIFY TTL ${wanted}`, {})
    else await run(client, `ALTER TABLE ${table} REMOVE TTL`, {})
    const days = table === 'ticks' ? (retention.ticks ?? 0) : 0
    await run(client, 'INSERT INTO retention SELECT {table:String}, {wanted:String}, {days:UInt32}, {version:UInt64}', {
      table,
      wanted,
      days,
      version: Date.now(),
    })
  }
}

/**
 * Ticks before this second may be gone: a bucket that begins earlier is never made anew, for it would lose what it was made from.
 * 0 where ticks are kept for ever.
 */
export async function readHorizon(client: ClickHouseClient): Promise<() => UnixSeconds> {
  const [row] = await ask<{ days: number }>(client, "SELECT days FROM retention FINAL WHERE table_name = 'ticks'", {})
  const days = row?.days ?? 0
  return () => (days === 0 ? 0 : Math.ceil(Date.now() / 1000) - days * DAY)
}

/** The start of the first day of which all ticks are kept. */
export async function oldestWholeDay(client: ClickHouseClient): Promise<UnixSeconds> {
  const horizon = await readHorizon(client)
  return Math.ceil(horizon() / DAY) * DAY
}
