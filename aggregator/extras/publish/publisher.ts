/**
 * Publishes the rows of the tables, block by block, behind the ledger. Two rules make it right after every crash:
 *
 * - A block is published once it is on the ledger, and the cursor moves once its records are acknowledged. So a crash repeats records,
 *   and omits none.
 * - A rollback, a rewind or a range overwrite publishes the retractions before the first row goes. So a crash
 *   between the two repeats them.
 *
 * A publication's version is the next one of the writer's epoch: a reader that keeps the highest version of each identity agrees with the
 * tables, despite repeated records and late records of a stale writer.
 */

import type { ClickHouseClient } from '@clickhouse/client'
import { pause, retried, Waker } from '../../../ingest/lib/wait.ts'
import type { RangeOverwrite } from '../../../ingest/model/message.ts'
import type { TouchedPool } from '../../candles/recompute.ts'
import {
  type LedgerObserver,
  type OpenObserver,
  type PoolSighting,
  type RecordedFlush,
  sightingsIn,
} from '../../ledger/observer.ts'
import type { LedgerBlock } from '../../ledger/stored-blocks.ts'
import { BEFORE_ALL } from '../../ledger/stored-blocks.ts'
import { PriorityQueue } from '../../store/priority-queue.ts'
import { whenStored } from '../../store/stream-priority.ts'
import type { Version } from '../../store/version.ts'
import { type CandleFeed, openCandleFeed } from './candle-feed.ts'
import { newestCovered, type PublishCursor, readCursor, writeCursor } from './cursor.ts'
import { type Emitter, openEmitter } from './emitter.ts'
import { latePoolChanges } from './late-pools.ts'
import { RecentFlushes, readBatch, readSightings } from './publish-batch.ts'
import type { PublisherOptions, PublishOptions } from './publish-options.ts'
import { readStoredTicks } from './stored-ticks.ts'
import { readTickDifference, replacementBy, type TickReplacement } from './tick-difference.ts'

const IDLE_MS = 1_000
/** The cursor is stored at most so often: after a crash, the blocks since then are published again. */
const CURSOR_MS = 1_000
const FIRST_RETRY_MS = 250
const MAX_RETRY_MS = 10_000
/** Blocks that one query of retractions spans. */
const BLOCKS_PER_RETRACTION = 1_000
/** While the stream stores a backlog, publishing takes at most this share of the time. */
const BUSY_SHARE = 0.1
const BUSY_MS = 150

function firstHighest({ ledger, finality }: PublisherOptions, stored: PublishCursor | undefined): number {
  if (!stored) return ledger.tip?.number ?? -1
  return finality === 'final' ? Math.max(stored.number, ledger.finalized) : Number.MAX_SAFE_INTEGER
}

/** Publishes the rows that the writer stores: an observer of its ledger. */
export function publishing(options: PublishOptions): OpenObserver {
  return (client, context) => openPublisher(client, { ...options, ...context })
}

async function openPublisher(client: ClickHouseClient, options: PublisherOptions): Promise<LedgerPublisher> {
  const { network, ledger, versions, finality, kinds } = options
  const stored = await readCursor(client, network)
  const cursor = stored ?? ledger.tip ?? BEFORE_ALL
  // A start after a crash must not begin at a later tip.
  if (!stored) await writeCursor(client, network, cursor, versions.next())
  return new LedgerPublisher(client, options, {
    cursor,
    highest: firstHighest(options, stored),
    coveredUntil: await newestCovered(client, network, ledger.tip ?? BEFORE_ALL),
    candles: await openCandleFeed(client, network, kinds.has('candles') ? finality : 'none', cursor.timestamp),
  })
}

type FirstState = {
  cursor: PublishCursor
  /**
   * No block above it is published. A crash has published more than the stored cursor says, so a start retracts all rows above
   * the tip.
   */
  highest: number
  /** The tables may have other rows of blocks up to this one than the stream's flushes in memory. */
  coveredUntil: number
  candles: CandleFeed
}

class LedgerPublisher implements Partial<LedgerObserver> {
  readonly #client: ClickHouseClient
  readonly #options: PublisherOptions
  readonly #state: FirstState
  /** Tip of the recorded flushes: the ledger in memory is ahead of it. */
  #recorded: number
  #saved: PublishCursor
  #savedMs = performance.now()
  /** First blocks of the overwrites under way: no block from there on is published. */
  readonly #overwriting = new Set<number>()
  readonly #recent = new RecentFlushes()
  readonly #waker = new Waker()
  readonly #queue = new PriorityQueue()
  readonly #closing = new AbortController()
  readonly #closed: AbortSignal
  readonly #emitter: Emitter
  readonly #running: Promise<void>

  constructor(client: ClickHouseClient, options: PublisherOptions, state: FirstState) {
    this.#client = client
    this.#options = options
    this.#state = state
    this.#recorded = options.ledger.tip?.number ?? -1
    this.#saved = state.cursor
    this.#closed = AbortSignal.any([options.signal, this.#closing.signal])
    this.#emitter = openEmitter(client, options)
    this.#running = this.#run()
    // Awaited in `close`.
    this.#running.catch(() => undefined)
  }

  recorded(flush: RecordedFlush): void {
    this.#recorded = flush.event.tip.number
    this.#recent.add(flush)
    this.#waker.wake()
  }

  retract(to: LedgerBlock, below?: Version): Promise<void> {
    return this.#queue.high(() => this.#retractAbove(to, below))
  }

  /** The difference is published first; no block from the first one on is published while `write` runs. */
  async aroundOverwrite(run: readonly RangeOverwrite[], write: () => Promise<void>): Promise<void> {
    const change = replacementBy(run)
    await this.#queue.high(async () => {
      await this.#publishDifference(change, sightingsIn(run.flatMap(({ blocks }) => blocks)))
      this.#overwriting.add(change.first)
    })
    try {
      await write()
    } finally {
      this.#overwriting.delete(change.first)
      this.#waker.wake()
    }
  }

  /** Publishes the withheld ticks of these pools, then runs `write`. */
  async aroundLatePools(pools: readonly PoolSighting[], write: () => Promise<void>): Promise<void> {
    await this.#queue.high(async () => {
      this.#state.coveredUntil = Math.max(this.#state.coveredUntil, this.#recorded)
      await this.#emitter.emit(await latePoolChanges(this.#client, this.#options.network, pools, this.#state))
      await write()
    })
  }

  recomputed(touched: readonly TouchedPool[]): Promise<void> {
    return this.#queue.high(async () => {
      const { candles, cursor } = this.#state
      const buckets = await candles.ofRecomputed(touched, cursor.timestamp)
      await this.#emitter.emit({ buckets, at: cursor.timestamp })
    })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#waker.wake()
    await this.#running.catch(() => undefined)
    await this.#saveCursor().catch(() => undefined)
  }

  async #run(): Promise<void> {
    const { network, report } = this.#options
    const failed = (error: unknown, retryMs: number) => report({ kind: 'publish-failed', network, error, retryMs })
    const retry = { firstMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS, signal: this.#closed, failed }
    while (!this.#closed.aborted) {
      const asked = performance.now()
      await whenStored()
      const began = performance.now()
      const isMore = await retried(() => this.#queue.low(() => this.#step()), retry)
      if (!isMore) await this.#waker.wait(IDLE_MS, this.#closed)
      else if (began - asked >= BUSY_MS) await pause((performance.now() - began) * (1 / BUSY_SHARE - 1), this.#closed)
    }
  }

  /** Publishes the next blocks; false where there are none. */
  async #step(): Promise<boolean> {
    const { network, report } = this.#options
    const { cursor, coveredUntil, candles } = this.#state
    const until = this.#target()
    if (cursor.number >= until) return false
    const fromMemory = cursor.number >= coveredUntil ? this.#recent.after(cursor.number, until) : undefined
    const batch = fromMemory ?? (await readBatch(this.#client, network, cursor, until))
    if (!batch) return false
    const { ticks, pools, last } = batch
    const began = performance.now()
    const buckets = await candles.ofBatch(batch)
    await this.#emitter.emit({ inserted: ticks, pools, buckets, at: last.timestamp })
    candles.acknowledged(last.timestamp)
    this.#state.cursor = last
    this.#state.highest = Math.max(this.#state.highest, last.number)
    if (performance.now() - this.#savedMs >= CURSOR_MS) await this.#saveCursor()
    const ms = performance.now() - began
    report({ kind: 'published', network, number: last.number, ticks: ticks.length, candles: buckets.length, ms })
    return last.number < this.#target()
  }

  /** The newest block that may be published now. */
  #target(): number {
    const { finality, ledger } = this.#options
    const tip = finality === 'final' ? Math.min(this.#recorded, ledger.finalized) : this.#recorded
    return Math.min(tip, ...[...this.#overwriting].map((first) => first - 1))
  }

  async #saveCursor(): Promise<void> {
    const { cursor } = this.#state
    if (this.#saved === cursor) return
    await writeCursor(this.#client, this.#options.network, cursor, this.#options.versions.next())
    this.#saved = cursor
    this.#savedMs = performance.now()
  }

  async #retractAbove(to: LedgerBlock, below?: Version): Promise<void> {
    const { network } = this.#options
    this.#recent.dropAbove(to.number)
    this.#recorded = Math.min(this.#recorded, to.number)
    // Stored first: after a crash in the midst of this, the chain may come back to the blocks above, which then are published again.
    if (this.#state.cursor.number > to.number) this.#state.cursor = to
    await this.#saveCursor()
    for (let last = this.#state.highest; last > to.number; last -= BLOCKS_PER_RETRACTION) {
      const isWhole = last === Number.MAX_SAFE_INTEGER
      const first = isWhole ? to.number + 1 : Math.max(to.number + 1, last - BLOCKS_PER_RETRACTION + 1)
      const range = { first, last, since: to.timestamp, below }
      const retracted = (await readStoredTicks(this.#client, network, range)).toReversed()
      const removed = await readSightings(this.#client, network, range)
      await this.#emitter.emit({ retracted, removedFrom: to.number + 1, removed, at: to.timestamp })
      if (isWhole) break
    }
    this.#state.highest = to.number
  }

  async #publishDifference(change: TickReplacement, pools: readonly PoolSighting[]): Promise<void> {
    const { highest, coveredUntil, cursor } = this.#state
    this.#state.coveredUntil = Math.max(coveredUntil, change.last)
    const published = highest < 0 ? change.last : highest
    const { retracted, inserted } = await readTickDifference(this.#client, this.#options.network, change, published)
    const named = pools.filter(({ block }) => block <= published)
    const changes = { retracted: retracted.toReversed(), inserted, pools: named }
    await this.#emitter.emit({ ...changes, at: cursor.timestamp, isFinal: true })
  }
}
