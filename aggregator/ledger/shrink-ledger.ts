/** The ledger shrinks: every rollback, rewind and power cut begins with it. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import { type CandleVersions, IS_NEWEST_EPOCH, inEpoch } from '../candles/writer-epoch.ts'
import { loadSql, run } from '../store/store.ts'
import type { Version } from '../store/version.ts'

const tombstoneBlocks = loadSql(import.meta.url, './tombstone_blocks.sql')

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
  const parameters = { network, block, version: version.toString() }
  if (!versions) return run(client, tombstoneBlocks, parameters)
  const { epoch } = versions
  const statement = `${tombstoneBlocks}  AND ${IS_NEWEST_EPOCH}`
  return inEpoch(network, epoch, () => run(client, statement, { ...parameters, epoch }))
}
