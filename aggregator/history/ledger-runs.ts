/** The ledger as unbroken runs. A block is appended only to its parent: read are its oldest and its newest blocks, however long it is. */

import type { ClickHouseClient } from '@clickhouse/client'
import type { BlockRange } from '../../ingest/model/block-range.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { ledgerStart, MAX_RANGE_BLOCKS, storedChain } from '../ledger/stored-blocks.ts'
import { ask, loadSql } from '../store/store.ts'

/** Both ends included. `fromTime` is the oldest stored time: a range of history stores the times only of blocks with logs. */
export type KnownRange = BlockRange & { fromTime: UnixSeconds; toTime: UnixSeconds }

const ledgerRuns = loadSql(import.meta.url, './ledger_runs.sql')

/** In order. Gaps show within the newest window, and right below it. */
export async function runsOfLedger(
  client: ClickHouseClient,
  network: NetworkName,
  below: number = Number.MAX_SAFE_INTEGER,
): Promise<KnownRange[]> {
  const chain = storedChain(client, network)
  const [[newest], start] = await Promise.all([chain.below(below, 1), ledgerStart(client, network)])
  if (!newest || !start) return []
  const [lowest, ...others] = await ask<KnownRange>(client, ledgerRuns, {
    ...{ network, below, since: newest.number - MAX_RANGE_BLOCKS },
  })
  if (!lowest) return []
  if (lowest.from <= start.first) return [lowest, ...others]
  // A range that covers the block before it ends there.
  const [before] = await chain.below(lowest.from, 1)
  if (before?.number === lowest.from - 1) return [{ ...lowest, from: start.first, fromTime: start.time }, ...others]
  return [...(await runsOfLedger(client, network, lowest.from)), lowest, ...others]
}
