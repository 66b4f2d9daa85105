/** Recovery: removes rows that a crash or a power cut left above the ledger's tip. */

import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { RecomputeContext, TouchedPool } from '../candles/recompute.ts'
import { ask, loadSql } from '../store/store.ts'
import { type LogPosition, tombstoneVersion } from '../store/version.ts'
import type { Checkpoint } from './checkpoint.ts'
import type { LedgerObserver } from './observer.ts'
import { rollBack } from './rollback.ts'
import type { LedgerBlock } from './stored-blocks.ts'
import { BEFORE_ALL } from './stored-blocks.ts'

const candlesBeyond = loadSql(import.meta.url, './candles_above_tip.sql')
const candlesAboveCheckpoint = loadSql(import.meta.url, './candles_above_checkpoint.sql')

export type RecoverOptions = {
  network: NetworkName
  /** Where reading resumes: rows of earlier messages above the tip get tombstones. */
  position: LogPosition
  tip: LedgerBlock | undefined
  /** Absent where every acknowledged write is on the disk. */
  checkpoint: Checkpoint | undefined
  /** Candles up to this version have their ticks. */
  completeVersion: bigint
  recomputeContext: RecomputeContext
  observer?: Pick<LedgerObserver, 'recomputed'> | undefined
}

/** Tombstones for the remains of a flush or rollback that was cut off. May be repeated. */
export async function recover(client: ClickHouseClient, options: RecoverOptions): Promise<void> {
  const { network, position, tip, checkpoint, completeVersion, recomputeContext, observer } = options
  const to = tip ?? BEFORE_ALL
  const above = { network, since: to.timestamp }
  const [beyond, aboveCheckpoint] = await Promise.all([
    ask<TouchedPool>(client, candlesBeyond, { ...above, completeVersion: completeVersion.toString() }),
    checkpoint
      ? ask<TouchedPool>(client, candlesAboveCheckpoint, { ...above, version: checkpoint.version.toString() })
      : [],
  ])
  const unverified = beyond.concat(aboveCheckpoint)
  await rollBack(client, {
    network,
    to,
    version: tombstoneVersion(position),
    recomputeContext,
    unverified,
    observer,
  })
}
