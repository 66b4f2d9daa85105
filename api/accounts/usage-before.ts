/** Stored use of keys before their first query at this process: one statement for all keys that arrive at nearly the same time. */
import type { ClickHouseClient } from '@clickhouse/client'
import DataLoader from 'dataloader'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import { groupBy } from '../lib/group.ts'
import { queryRows, readSql } from '../lib/store.ts'
import { type Count, type Meter, recordPeerUsage, SETTLED_SECONDS } from './credits.ts'
import type { KeyHash } from './keys.ts'
import { minuteOf, monthOf } from './period.ts'

const BEFORE = readSql(new URL('./usage-before.sql', import.meta.url))
const MAX_KEYS_PER_QUERY = 500

type BeforeRow = Record<keyof Count, number | string> & { hash: KeyHash; at: number; by: string }
type UsageRequest = { hash: KeyHash; start: UnixSeconds; now: UnixSeconds }

/** Loads a key's stored use of the month into its meter: that of other processes, and of earlier runs of this one. */
export function openUsageBefore(
  client: ClickHouseClient,
  instance: string,
): (hash: KeyHash, meter: Meter, now: UnixSeconds) => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  const loader = new DataLoader(load, {
    cache: false,
    maxBatchSize: MAX_KEYS_PER_QUERY,
    batchScheduleFn: (send) => void last.then(send),
  })

  async function load(wanted: readonly UsageRequest[]): Promise<(readonly BeforeRow[])[]> {
    const parameters = {
      instance,
      hashes: wanted.map(({ hash }) => hash),
      starts: wanted.map(({ start }) => start),
      recent: minuteOf(Math.min(...wanted.map(({ now }) => now)) - SETTLED_SECONDS).start,
    }
    const reading = queryRows<BeforeRow>(client, BEFORE, parameters)
    last = reading.catch(() => undefined)
    const rows = groupBy(await reading, ({ hash }) => hash)
    return wanted.map(({ hash }) => rows.get(hash) ?? [])
  }

  return async (hash, meter, now) => {
    const { start } = monthOf(now, meter.billingStart)
    const rows = await loader.load({ hash, start, now })
    meter.others = { before: { start, credits: 0, calls: 0 }, recent: new Map() }
    for (const { at, by, credits, calls } of rows) {
      const count = { credits: Number(credits), calls: Number(calls) }
      if (at === 0) meter.others.before = { start, ...count }
      else recordPeerUsage(meter, by, at, count)
    }
  }
}
