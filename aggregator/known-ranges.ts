/** What is known whole of a network: the ledger and what jobs have read, joined into unbroken runs; and the gaps between them. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../ingest/message.ts'
import type { NetworkName } from '../ingest/network.ts'
import type { PoolId } from '../ingest/pool.ts'
import type { BlockRange } from './coverage.ts'
import { ask, loadSql } from './store.ts'

/** Both ends included. `fromTime` is the first block's whose time is stored: a range of history keeps those of blocks with logs. */
export type KnownRange = BlockRange & { fromTime: UnixSeconds; toTime: UnixSeconds }

const question = loadSql(import.meta.url, './sql/known_ranges.sql')

/**
 * In order, none touching the next. What a job has read for some pools only counts where `pools` are among them.
 * It goes through all blocks of the ledger, some millions a second, in little memory.
 */
export async function knownRanges(
  client: ClickHouseClient,
  network: NetworkName,
  pools: readonly PoolId[] = [],
): Promise<KnownRange[]> {
  return ask<KnownRange>(client, question, { network, pools })
}

/** Between the first and the last block that is known. Times are those of the known blocks on both sides. */
export function gapsBetween(ranges: readonly KnownRange[]): KnownRange[] {
  return ranges.slice(1).map((range, index) => {
    const before = ranges[index] ?? range
    return { from: before.to + 1, to: range.from - 1, fromTime: before.toTime, toTime: range.fromTime }
  })
}
