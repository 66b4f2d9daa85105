/**
 * Publishes what the tables say, block by block, behind the ledger. Two rules make it right after every crash:
 *
 * - A block is published once it is on the ledger, and the cursor moves once its records are acknowledged. So a crash repeats records,
 *   and omits none.
 * - What takes rows back (a rollback, a rewind, a range overwrite) publishes the retractions before the first row goes. So a crash
 *   between the two repeats them.
 *
 * A publication's version is the next one of the writer's epoch: a reader that keeps the highest version of each identity has what the
 * tables say, whatever was repeated, and whatever a stale writer sends late.
 */
import type { ClickHouseClient } from '@clickhouse/client'
import { whenIdle } from '../../ingest/lib/live-priority.ts'
import { pause, retried, Waker } from '../../ingest/lib/wait.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Pool } from '../../ingest/model/pool.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { TouchedPool } from '../candles/recompute.ts'
import type { CandleVersions } from '../candles/writer-epoch.ts'
import type { AggregatorFact } from '../ledger/fact.ts'
import type { Ledger, LedgerBlock } from '../ledger/ledger.ts'
import { PriorityQueue } from '../store/priority-queue.ts'
import type { Version } from '../store/version.ts'
import { openCandleFeed } from './candle-feed.ts'
import { BEFORE_ALL, newestCovered, type PublishCursor, readCursor, writeCursor } from './cursor.ts'
import { openEmitter } from './emitter.ts'
import type { PublishedKind, PublishFinality, PublishSink } from './publication.ts'
import { RecentFlushes, type RecordedFlush, readBatch, readSightings } from './publish-batch.ts'
import { readStoredTicks } from './stored-ticks.ts'
import { type TickReplacement, tickDifference } from './tick-difference.ts'

export type PublishOptions = {
  sink: PublishSink
  /** Candles are neither read nor sent where they are not in it; the sink leaves out the others. */
  kinds: ReadonlySet<PublishedKind>
  finality: PublishFinality
}

export type PublisherOptions = PublishOptions & {
  network: NetworkName
  ledger: Pick<Ledger, 'tip' | 'finalized' | 'at'>
  versions: CandleVersions
  report: Report<AggregatorFact>
  signal: AbortSignal
}

/** Every call may be repeated after a failure. */
export type Publisher = {
  /** A flush is on the ledger. */
  onRecorded(flush: RecordedFlush): void
  /**
   * Retracts what was published above a block. Call it before any row above it is taken back: those of versions below `below`, or all
   * where it is absent.
   */
  retractAbove(to: LedgerBlock, below?: Version): Promise<void>
  /** Runs `write`, which replaces stored ticks, once the difference is published. No block from `change.first` on is published meanwhile. */
  aroundOverwrite(
    change: TickReplacement,
    pools: readonly { pool: Pool; block: number }[],
    write: () => Promise<void>,
  ): Promise<void>
  /** Candles of these pools were recomputed. */
  onRecomputed(touched: readonly TouchedPool[]): Promise<void>
  /** Ends with the batch under way, and stores the cursor. */
  close(): Promise<void>
}

const IDLE_MS = 1_000
/** The cursor is stored at most so often: after a crash, the blocks since then are published again. */
const CURSOR_MS = 1_000
const FIRST_RETRY_MS = 250
const MAX_RETRY_MS = 10_000
/** Blocks that one query of retractions spans. */
const BLOCKS_PER_RETRACTION = 1_000
/** Rows that a job replaces may be stored under a wrong time. */
const MAX_TIME = 2 ** 32 - 1
const ANY_TIME = { since: 0, until: MAX_TIME }
/** While the stream stores a backlog, publishing takes at most this share of the time. */
const BUSY_SHARE = 0.1
const BUSY_MS = 150

function firstHighest({ ledger, finality }: PublisherOptions, stored: PublishCursor | undefined): number {
  if (!stored) return ledger.tip?.number ?? -1
  return finality === 'final' ? Math.max(stored.number, ledger.finalized) : Number.MAX_SAFE_INTEGER
}

export async function openPublisher(client: ClickHouseClient, options: PublisherOptions): Promise<Publisher> {
  const { network, ledger, versions, finality, kinds, report } = options
  const stored = await readCursor(client, network)
  let cursor: PublishCursor = stored ?? ledger.tip ?? BEFORE_ALL
  // A start after a crash must not begin at a later tip.
  if (!stored) await writeCursor(client, network, cursor, versions.next())
  /**
   * No block above it is published. The stored cursor is behind what a crash has published, so a start retracts whatever is stored above
   * the tip.
   */
  let highest = firstHighest(options, stored)
  /** Tip of the recorded flushes: the ledger in memory is ahead of it. */
  let recorded = ledger.tip?.number ?? -1
  let savedMs = performance.now()
  let saved = cursor
  /** Jobs may have stored other rows of these blocks than the stream. */
  let coveredUntil = await newestCovered(client, network, ledger.tip ?? BEFORE_ALL)
  /** First blocks of the overwrites under way. */
  const held = new Set<number>()
  const recent = new RecentFlushes()
  const waker = new Waker()
  const queue = new PriorityQueue()
  const closing = new AbortController()
  const closed = AbortSignal.any([options.signal, closing.signal])
  const emitter = openEmitter(client, options)
  const feed = kinds.has('candles') ? finality : 'none'
  const candles = await openCandleFeed(client, network, feed, cursor.timestamp)

  async function saveCursor(): Promise<void> {
    if (saved === cursor) return
    const written = cursor
    await writeCursor(client, network, written, versions.next())
    saved = written
    savedMs = performance.now()
  }

  /** The newest block that may be published now. */
  function target(): number {
    const tip = finality === 'final' ? Math.min(recorded, ledger.finalized) : recorded
    return Math.min(tip, ...[...held].map((first) => first - 1))
  }

  /** Publishes the next blocks; false where there are none. */
  async function step(): Promise<boolean> {
    const until = target()
    if (cursor.number >= until) return false
    const fromMemory = cursor.number >= coveredUntil ? recent.after(cursor.number, until) : undefined
    const batch = fromMemory ?? (await readBatch(client, network, cursor, until))
    if (!batch) return false
    const { ticks, pools, last } = batch
    const began = performance.now()
    const buckets = await candles.ofBatch(batch)
    await emitter.emit({ inserted: ticks, pools, buckets, at: last.timestamp })
    candles.acknowledged(last.timestamp)
    cursor = last
    highest = Math.max(highest, last.number)
    if (performance.now() - savedMs >= CURSOR_MS) await saveCursor()
    const ms = performance.now() - began
    report({ kind: 'published', network, number: last.number, ticks: ticks.length, candles: buckets.length, ms })
    return cursor.number < target()
  }

  async function run(): Promise<void> {
    const failed = (error: unknown, retryMs: number) => report({ kind: 'publish-failed', network, error, retryMs })
    while (!closed.aborted) {
      const asked = performance.now()
      await whenIdle()
      const began = performance.now()
      const isMore = await retried(() => queue.low(step), {
        firstMs: FIRST_RETRY_MS,
        maxMs: MAX_RETRY_MS,
        signal: closed,
        failed,
      })
      if (!isMore) await waker.wait(IDLE_MS, closed)
      else if (began - asked >= BUSY_MS) await pause((performance.now() - began) * (1 / BUSY_SHARE - 1), closed)
    }
  }
  const running = run()
  // Awaited in `close`.
  running.catch(() => undefined)

  async function retractAbove(to: LedgerBlock, below?: Version): Promise<void> {
    recent.dropAbove(to.number)
    recorded = Math.min(recorded, to.number)
    for (let last = highest; last > to.number; last -= BLOCKS_PER_RETRACTION) {
      const isWhole = last === Number.MAX_SAFE_INTEGER
      const first = isWhole ? to.number + 1 : Math.max(to.number + 1, last - BLOCKS_PER_RETRACTION + 1)
      const range = { first, last, since: to.timestamp, until: MAX_TIME, below }
      const retracted = await readStoredTicks(client, network, range)
      const removed = await readSightings(client, network, range)
      await emitter.emit({ retracted: retracted.toReversed(), removedFrom: to.number + 1, removed, at: to.timestamp })
      if (isWhole) break
    }
    highest = to.number
    if (cursor.number <= to.number) return
    cursor = to
    await saveCursor()
  }

  async function publishDifference(
    change: TickReplacement,
    pools: readonly { pool: Pool; block: number }[],
  ): Promise<void> {
    coveredUntil = Math.max(coveredUntil, change.last)
    const last = highest < 0 ? change.last : Math.min(change.last, highest)
    if (change.first > last) return
    const isPublished = ({ number }: { number: number }) => number <= last
    const stored = await readStoredTicks(client, network, { ...ANY_TIME, first: change.first, last }, change.pools)
    const ticks = change.ticks.filter(({ block }) => isPublished(block))
    const { retracted, inserted } = tickDifference(stored, { ...change, ticks })
    const named = pools.filter(({ block }) => block <= last)
    await emitter.emit({
      retracted: retracted.toReversed(),
      inserted,
      pools: named,
      at: cursor.timestamp,
      isFinal: true,
    })
  }

  return {
    onRecorded(flush) {
      recorded = flush.event.tip.number
      recent.add(flush)
      waker.wake()
    },
    retractAbove: (to, below) => queue.high(() => retractAbove(to, below)),
    async aroundOverwrite(change, pools, write) {
      await queue.high(async () => {
        await publishDifference(change, pools)
        held.add(change.first)
      })
      try {
        await write()
      } finally {
        held.delete(change.first)
        waker.wake()
      }
    },
    onRecomputed: (touched) =>
      queue.high(async () => {
        const buckets = await candles.ofRecomputed(touched, cursor.timestamp)
        await emitter.emit({ buckets, at: cursor.timestamp })
      }),
    async close() {
      closing.abort()
      waker.wake()
      await running.catch(() => undefined)
      await saveCursor().catch(() => undefined)
    },
  }
}
