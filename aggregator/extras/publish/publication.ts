/** Publications: changes of ticks, pools and candles as records for readers outside of the tables. The port that a message broker implements. */
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { Pool, PoolId } from '../../../ingest/model/pool.ts'
import type { Tick } from '../../../ingest/model/tick.ts'
import type { Bucket } from '../../candles/open-candles.ts'
import type { Version } from '../../store/version.ts'

/** `instant`: each block once it is stored; a reorg retracts it. `final`: only blocks that the chain no longer replaces. */
export const PUBLISH_FINALITIES = ['instant', 'final'] as const
export type PublishFinality = (typeof PUBLISH_FINALITIES)[number]

export const PUBLISHED_KINDS = ['ticks', 'pools', 'candles'] as const
export type PublishedKind = (typeof PUBLISHED_KINDS)[number]

/** `hash` is absent where the tables do not have it: in history that a backfill has read. */
export type PublishedBlock = { number: number; hash: string | undefined; timestamp: UnixSeconds }

/** A row of `ticks`. */
export type VersionedTick = { block: PublishedBlock; tick: Tick; version: Version }

/** Its identity is pool, block number and log index; of two changes with one identity the higher version counts. */
export type PublishedTick = Omit<VersionedTick, 'version'> & {
  op: 'insert' | 'retract'
  version: bigint
  pool: Pool
  isFinal: boolean
}

/** `pool` is absent where a reorg took back the only block that names it. */
export type PublishedPool = { id: PoolId; pool: Pool | undefined; block: number; isFinal: boolean }

/** The state of a candle. Without trades: it is deleted. The higher version counts. */
export type PublishedCandle = { bucket: Bucket; pool: Pool; version: bigint; isFinal: boolean }

/** Written in this order: pools, ticks, candles. */
export type Publication = {
  network: NetworkName
  pools: readonly PublishedPool[]
  ticks: readonly PublishedTick[]
  candles: readonly PublishedCandle[]
}

export type PublishSink = {
  /** Resolves once every record is acknowledged. Changes may come again after a crash, with a higher version. */
  publish(publication: Publication): Promise<void>
}
