/** A slice: a part of the tables, bounded in rows, that one step of the permanent verification compares. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { Difference } from './differences.ts'
import type { FinalPoint } from './final-point.ts'
import type { VerifyPosition } from './position.ts'

export type SliceBounds = {
  /** Rows of ticks. */
  ticks: number
  /** Pools of the catalogue. A granule can hold several months: their number bounds the read. */
  pools: number
  /** Rows of the ledger. */
  blocks: number
}

export const SLICE_BOUNDS: SliceBounds = { ticks: 20_000, pools: 100, blocks: 4_096 }

export type SliceContext = {
  client: ClickHouseClient
  network: NetworkName
  bounds: SliceBounds
  point: FinalPoint
  /** Whatever is older may be incomplete by retention. */
  oldest: UnixSeconds
}

export type VerifySlice = {
  /** Where the next slice begins; undefined at the end of the phase. */
  next: VerifyPosition | undefined
  /** Everything of this phase before this second is verified. */
  until: UnixSeconds
  /** Rows that it compared, tombstones and replaced rows included. */
  rows: number
  /** It found something: reads that again, from the ticks themselves. Undefined where nothing is doubtful. */
  recheck: (() => Promise<Difference[]>) | undefined
}
