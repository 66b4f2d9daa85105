/** The ledger shrinks: every rollback, rewind and power cut begins with it. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import { type CandleVersions, inEpoch } from '../candles/writer-epoch.ts'
import { loadSql, run } from '../store/store.ts'
import type { Version } from '../store/version.ts'

const tombstoneBlocks = loadSql(import.meta.url, './tombstone_blocks.sql')

/** An epoch that no other one follows. */
const LAST_EPOCH = 2n ** 64n - 1n

export type ShrinkOptions = {
  network: NetworkName
  /** Rows of higher blocks and of lower versions get a tombstone; −1 for all blocks. */
  block: number
  version: Version
}

/** Throws `EpochOver` where another process has become the writer. Without `versions` the caller is the only process. */
export function shrinkLedger(
  client: ClickHouseClient,
  { network, block, version }: ShrinkOptions,
  versions?: CandleVersions,
): Promise<void> {
  const epoch = versions?.epoch ?? LAST_EPOCH
  const parameters = { network, block, version: version.toString(), epoch }
  return inEpoch(network, epoch, () => run(client, tombstoneBlocks, parameters))
}
