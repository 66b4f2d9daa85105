/**
 * The observers of a network's writer: its checkpoint, the publisher, and caches of the same process. The writer calls them in the order of
 * its writes, by this type alone. Every call may be repeated after a failure.
 */

import type { ClickHouseClient } from '@clickhouse/client'
import type { BlockContent, RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Pool } from '../../ingest/model/pool.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { FlushEvent, WriteEvent } from '../candles/changes.ts'
import type { TouchedPool } from '../candles/recompute.ts'
import type { CandleVersions } from '../candles/writer-epoch.ts'
import type { Version } from '../store/version.ts'
import type { AggregatorFact } from './fact.ts'
import type { Ledger } from './ledger.ts'
import type { LedgerBlock } from './stored-blocks.ts'

/** A pool, and a block that names it. */
export type PoolSighting = { pool: Pool; block: number }

export function sightingsIn(blocks: readonly Pick<BlockContent, 'number' | 'pools'>[]): PoolSighting[] {
  return blocks.flatMap(({ number, pools }) => pools.map((pool) => ({ pool, block: number })))
}

/** A flush whose ticks and candles are stored. */
export type StoredFlush = Omit<FlushEvent, 'isRecorded'>

/** A flush that is on the ledger. */
export type RecordedFlush = {
  /** The first block that it covers, with or without content. */
  first: number
  blocks: readonly { block: BlockContent; version: Version }[]
  event: StoredFlush
}

export type LedgerObserver = {
  /** Called before rows above `to` are taken back: rows of versions below `below`, or all rows if it is absent. */
  retract(to: LedgerBlock, below?: Version): Promise<void>
  /** The ticks and candles of this and all earlier flushes are stored. Called again if a later step fails. */
  stored(flush: StoredFlush): void
  /** A flush is on the ledger. */
  recorded(flush: RecordedFlush): void
  /** Candles of these pools were recomputed. The rows of `changes` follow. */
  recomputed(touched: readonly TouchedPool[]): Promise<void>
  /** Runs `write`, which replaces stored ticks by the ticks of these range overwrites. */
  aroundOverwrite(run: readonly RangeOverwrite[], write: () => Promise<void>): Promise<void>
  /** Runs `write`, which stores pools that were unknown although blocks of the ledger name them. */
  aroundLatePools(pools: readonly PoolSighting[], write: () => Promise<void>): Promise<void>
  /** Range overwrites are stored: every candle has its ticks. */
  overwritten(): Promise<void>
  /** Resolves once every write so far is on the disk. */
  sync(): Promise<void>
  /** A write other than a flush is complete. */
  written(): void
  /** Ends with the work under way. */
  close(): Promise<void>
}

export type ObserverContext = {
  network: NetworkName
  ledger: Ledger
  versions: CandleVersions
  report: Report<AggregatorFact>
  signal: AbortSignal
}

/** Opens an observer when the writer epoch is acquired, before anything is written. */
export type OpenObserver = (client: ClickHouseClient, context: ObserverContext) => Promise<Partial<LedgerObserver>>

/** Each call goes to all of them, one after the other, and the close from the last to the first. The last one's `around…` is the innermost. */
export function inOrder(observers: readonly Partial<LedgerObserver>[]): LedgerObserver {
  async function each(call: (observer: Partial<LedgerObserver>) => Promise<void> | undefined): Promise<void> {
    for (const observer of observers) await call(observer)
  }
  return {
    retract: (to, below) => each((observer) => observer.retract?.(to, below)),
    stored(flush) {
      for (const observer of observers) observer.stored?.(flush)
    },
    recorded(flush) {
      for (const observer of observers) observer.recorded?.(flush)
    },
    recomputed: (touched) => each((observer) => observer.recomputed?.(touched)),
    aroundOverwrite: (run, write) =>
      observers.reduceRight((inner, observer) => () => observer.aroundOverwrite?.(run, inner) ?? inner(), write)(),
    aroundLatePools: (pools, write) =>
      observers.reduceRight((inner, observer) => () => observer.aroundLatePools?.(pools, inner) ?? inner(), write)(),
    overwritten: () => each((observer) => observer.overwritten?.()),
    sync: () => each((observer) => observer.sync?.()),
    written() {
      for (const observer of observers) observer.written?.()
    },
    async close() {
      for (const observer of observers.toReversed()) await observer.close?.()
    },
  }
}

/** For caches of candles in the same process. */
export function notifying(onWritten: (written: WriteEvent) => void): OpenObserver {
  return async (_client, { network }) => ({
    stored: (flush) => onWritten({ network, flushed: { ...flush, isRecorded: false } }),
    recorded: ({ event }) => onWritten({ network, flushed: { ...event, isRecorded: true } }),
    written: () => onWritten({ network }),
  })
}
