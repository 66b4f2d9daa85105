/** What a crash or a power cut left above the ledger's tip. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Remaking, Touched } from '../candles/recompute.ts'
import { ask, loadSql } from '../store/store.ts'
import { type Position, tombstoneVersion } from '../store/version.ts'
import type { Settled } from './checkpoint.ts'
import type { LedgerBlock } from './ledger.ts'
import { rollBack } from './rollback.ts'

const candlesBeyond = loadSql(import.meta.url, './candles_beyond.sql')
const candlesUnsettled = loadSql(import.meta.url, './candles_unsettled.sql')

export type ClearAwayOptions = {
  network: NetworkName
  /** Where the log is read on: what was written before is buried. */
  position: Position
  tip: LedgerBlock | undefined
  /** How far the tables were settled, where that matters. */
  settled: Settled | undefined
  /** Candles of no higher version have their ticks. */
  vouched: bigint
  remaking: Remaking
}

/** Buries what will not be written again: the remains of a flush or rollback that was cut off. */
export async function clearAway(
  client: ClickHouseClient,
  { network, position, tip, settled, vouched, remaking }: ClearAwayOptions,
): Promise<void> {
  const to = tip ?? { number: -1, timestamp: 0 }
  const above = { network, since: to.timestamp }
  const [beyond, unsettled] = await Promise.all([
    ask<Touched>(client, candlesBeyond, { ...above, vouched: vouched.toString() }),
    settled ? ask<Touched>(client, candlesUnsettled, { ...above, version: settled.version.toString() }) : [],
  ])
  const doubted = beyond.concat(unsettled)
  await rollBack(client, { network, to, version: tombstoneVersion(position), remaking, doubted })
}
