/** The next blocks to publish: from memory while the publisher keeps up, else from the tables. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Address, Hash } from 'viem'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { hooksField, type Pool } from '../../../ingest/model/pool.ts'
import { type VenueName, venueField } from '../../../ingest/model/venue.ts'
import { type PoolSighting, type RecordedFlush, sightingsIn } from '../../ledger/observer.ts'
import { ledgerStart, MAX_RANGE_BLOCKS } from '../../ledger/stored-blocks.ts'
import { ask, loadSql } from '../../store/store.ts'
import type { PublishCursor } from './cursor.ts'
import type { VersionedTick } from './publication.ts'
import type { VersionedBucket } from './stored-candles.ts'
import { readStoredTicks } from './stored-ticks.ts'

const nextBlocks = loadSql(import.meta.url, './next_blocks.sql')
const sightedPools = loadSql(import.meta.url, './sighted_pools.sql')

export type PublishBatch = {
  ticks: readonly VersionedTick[]
  pools: readonly PoolSighting[]
  /** All candles that these ticks changed; absent where they have to be read. */
  buckets?: readonly VersionedBucket[]
  /** The newest block of the batch. */
  last: PublishCursor
}

/** Ticks of recorded flushes that are kept in memory; with more, the tables are read. */
const MAX_TICKS_IN_MEMORY = 20_000
/** Ticks and ledger rows of a batch from the tables. A block is not cut. */
const TICKS_PER_BATCH = 5_000
const ROWS_PER_BATCH = 2_000

export class RecentFlushes {
  #flushes: RecordedFlush[] = []
  #ticks = 0

  add(flush: RecordedFlush): void {
    this.#ticks += ticksOf(flush)
    this.#flushes.push(flush)
    if (this.#ticks <= MAX_TICKS_IN_MEMORY) return
    this.#flushes = []
    this.#ticks = 0
  }

  /** Drops every flush with a block above `number`. */
  dropAbove(number: number): void {
    this.#keep(({ event }) => event.tip.number <= number)
  }

  /**
   * The flush that begins at the block after `cursor`, if it is in memory and ends at or below `until`. Before the first publication that block
   * is unknown, and the tables are read.
   */
  after(cursor: number, until: number): PublishBatch | undefined {
    this.#keep(({ event }) => event.tip.number > cursor)
    const [flush] = this.#flushes
    if (flush?.first !== cursor + 1 || flush.event.tip.number > until) return undefined
    const { tip, buckets, version } = flush.event
    return {
      ticks: flush.blocks.flatMap(({ block, version }) => block.ticks.map((tick) => ({ block, tick, version }))),
      pools: sightingsIn(flush.blocks.map(({ block }) => block)),
      ...(buckets && { buckets: buckets.map((bucket) => ({ bucket, version })) }),
      last: tip,
    }
  }

  #keep(isKept: (flush: RecordedFlush) => boolean): void {
    if (this.#flushes.every(isKept)) return
    this.#flushes = this.#flushes.filter(isKept)
    this.#ticks = this.#flushes.reduce((sum, flush) => sum + ticksOf(flush), 0)
  }
}

function ticksOf({ blocks }: RecordedFlush): number {
  return blocks.reduce((sum, { block }) => sum + block.ticks.length, 0)
}

/** Blocks of the ledger after `cursor` up to `until`, some thousand ticks; undefined where the ledger has no such block. */
export async function readBatch(
  client: ClickHouseClient,
  network: NetworkName,
  cursor: PublishCursor,
  until: number,
): Promise<PublishBatch | undefined> {
  type LedgerRow = { number: number; hash: string; timestamp: UnixSeconds; ticks: number }
  const after = cursor.number < 0 ? ((await ledgerStart(client, network))?.first ?? 0) - 1 : cursor.number
  // FINAL reads all that the key allows.
  const range = { after, until: Math.min(until, after + MAX_RANGE_BLOCKS) }
  const rows = await ask<LedgerRow>(client, nextBlocks, { network, ...range, limit: ROWS_PER_BATCH })
  let ticks = 0
  const taken = rows.findIndex((row) => {
    ticks += row.ticks
    return ticks > TICKS_PER_BATCH
  })
  const last = rows[taken < 0 ? rows.length - 1 : Math.max(0, taken - 1)]
  if (!last) return undefined
  const end = { number: last.number, hash: `0x${last.hash}` as Hash, timestamp: last.timestamp }
  const blocks = { first: after + 1, last: last.number, since: cursor.timestamp, until: last.timestamp }
  const [found, pools] = await Promise.all([
    readStoredTicks(client, network, blocks),
    readSightings(client, network, blocks),
  ])
  return { ticks: found, pools, last: end }
}

/** Pools that some blocks name. */
export async function readSightings(
  client: ClickHouseClient,
  network: NetworkName,
  { first, last }: { first: number; last: number },
): Promise<PoolSighting[]> {
  const rows = await ask<SightingColumns>(client, sightedPools, { network, first, last })
  return rows.map(({ block, venue, hooks, initialSqrtPriceX96, ...pool }) => ({
    block,
    pool: { ...pool, ...venueField(venue), ...hooksField(hooks), initialSqrtPriceX96: BigInt(initialSqrtPriceX96) },
  }))
}

type SightingColumns = Omit<Pool, 'initialSqrtPriceX96' | 'hooks'> & {
  block: number
  venue: VenueName
  hooks: Address | ''
  initialSqrtPriceX96: string
}
