/** Retime: blocks that are stored under another time than the one that a job has read. */

import type { ClickHouseClient } from '@clickhouse/client'
import type { BlockContent } from '../../ingest/model/message.ts'
import type { LedgerBlock } from '../ledger/stored-blocks.ts'
import { askGroups, filterGroups } from '../store/pool-groups.ts'
import type { Enqueue } from '../store/priority-queue.ts'
import { ask, loadSql, run } from '../store/store.ts'
import { finalRowVersion, finalTombstoneVersion } from '../store/version.ts'
import type { OverwrittenRange } from './replace-range.ts'

const olderTimes = loadSql(import.meta.url, './older_times.sql')
const retimeBlocks = loadSql(import.meta.url, './retime_blocks.sql')
const tombstoneMistimedHours = loadSql(import.meta.url, './tombstone_mistimed_hours.sql')

/** Their numbers, times and hashes go into the URL. */
const BLOCKS_PER_STATEMENT = 500

export type OverwrittenBlocks = OverwrittenRange & { blocks: readonly BlockContent[] }

/**
 * A row with the time in its key stays beside the new row under another time. The overwrite itself gives such ticks tombstones; this does so
 * for balances of a wrong hour, and corrects the ledger. Returns the blocks that had another time. May be repeated.
 */
export async function retime(
  client: ClickHouseClient,
  { blocks, job, ...stated }: OverwrittenBlocks,
  enqueue: Enqueue,
): Promise<readonly LedgerBlock[]> {
  const row = finalRowVersion(job).toString()
  const older = await askGroups(filterGroups(stated.pools), (pools) =>
    ask<Omit<LedgerBlock, 'hash'>>(client, olderTimes, { ...stated, pools, row }),
  )
  const truth = new Map(blocks.map((block) => [block.number, block]))
  const mistimed = new Map<number, LedgerBlock>()
  for (const { number, timestamp } of older) {
    const block = truth.get(number)
    if (block && block.timestamp !== timestamp) mistimed.set(number, block)
  }
  const found = [...mistimed.values()].map(({ number, hash, timestamp }) => ({ number, hash, timestamp }))
  for (let start = 0; start < found.length; start += BLOCKS_PER_STATEMENT) {
    const group = found.slice(start, start + BLOCKS_PER_STATEMENT)
    const parameters = {
      network: stated.network,
      numbers: group.map(({ number }) => number),
      times: group.map(({ timestamp }) => timestamp),
      hashes: group.map(({ hash }) => hash.slice(2)),
    }
    const tombstone = finalTombstoneVersion(job).toString()
    await enqueue(() => run(client, tombstoneMistimedHours, { ...parameters, row, tombstone }))
    await enqueue(() => run(client, retimeBlocks, parameters))
  }
  return found
}
