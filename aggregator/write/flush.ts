/**
 * A flush: messages that extend the tip, from values to rows of the tables, in one direction.
 *
 *   PlacedMessage[]  the ledger has accepted them (see stream-writer.ts); check-flush.ts is the last gate
 *     → versionBlocks    VersionedBlock[]  their blocks, with the version that their place in the log gives
 *     → versionTicks     VersionedTicks    their ticks as columns, in the order of the table
 *     → insertBlocks     ticks, pools and liquidity changes; under way while the candles are folded
 *     → foldTicks        FoldedTicks       ticks into open candles, candles into rows
 *     → insertCandles    candles           beside the ticks where memory holds all of them, else after the ticks
 *     → recordFlush      changes and balances, then `blocks`: the ledger comes last, so a crash leaves nothing that looks whole
 *
 * Every row is keyed and versioned: a flush may be repeated after a failure at any statement, once its open candles are invalidated.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { ColumnMemory } from '../../ingest/columns/column-memory.ts'
import { blocksOf, ticksIn, tipOf, type UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { type FlushEvent, recordChanges } from '../candles/changes.ts'
import { IS_NEWEST_EPOCH, inEpoch } from '../candles/writer-epoch.ts'
import type { AggregatorFact } from '../ledger/fact.ts'
import { RowBinary } from '../store/row-binary.ts'
import { insertBinary, together } from '../store/store.ts'
import { rowVersion } from '../store/version.ts'
import { checkCounts, checkFlush, checkVersions } from './check-flush.ts'
import { completeCandles } from './complete-candles.ts'
import { type FoldedTicks, foldTicks, insertFolded, touchedPools } from './fold-ticks.ts'
import { insertBalances, insertBlocks } from './insert-blocks.ts'
import type { PlacedMessage } from './rows.ts'
import { LEDGER, LEDGER_COLUMNS, ledgerRows, type VersionedBlock, type VersionedContent } from './rows.ts'
import { contentOf, versionTicks } from './tick-rows.ts'
import type { WriterState } from './writer-state.ts'

/** Large inserts are cheap; this bounds the memory of one. */
export const MAX_TICKS_PER_FLUSH = 50_000

export type StartedFlush = {
  placed: readonly PlacedMessage[]
  content: VersionedContent
  /** Holds the columns of the content. */
  memory: ColumnMemory
  folded: FoldedTicks
  /** All candles were folded in memory: the next flush may be folded before these are stored. */
  isFolded: boolean
  /** Its changes, for caches in the same process. */
  event: Omit<FlushEvent, 'isRecorded'>
  /** Ticks, and candles where `isFolded`. Settles once no statement is under way. */
  inserted: Promise<void>
}

export async function startFlush(
  client: ClickHouseClient,
  network: NetworkName,
  placed: readonly PlacedMessage[],
  state: WriterState,
): Promise<StartedFlush> {
  checkFlush(network, placed)
  const blocks = versionBlocks(network, placed)
  const memory = new ColumnMemory()
  const content = contentOf(blocks, memory)
  const { inserting, folded } = await insertAndFold(client, network, content, state)
  const isFolded = folded.incomplete.length === 0
  const event = {
    tip: lastBlock(placed),
    touched: touchedPools(content),
    balances: blocks.flatMap(({ block }) => block.balances.map(({ pool }) => pool)),
    buckets: folded.buckets,
    sequence: state.versions.next(),
    version: folded.version,
  }
  // Candles need not wait for their ticks: recovery recomputes candles that a crash stored without their ticks.
  const inserted = together([
    inserting,
    ...(isFolded ? [insertCandles(client, network, { content, folded }, state)] : []),
  ])
  // Awaited in `finishInsert`.
  inserted.catch(() => undefined)
  return { placed, content, memory, folded, isFolded, event, inserted }
}

/** Folds while the inserts are under way; the caller awaits `inserting`. */
export async function insertAndFold(
  client: ClickHouseClient,
  network: NetworkName,
  content: VersionedContent,
  { versions, open }: Pick<WriterState, 'versions' | 'open'>,
): Promise<{ inserting: Promise<void>; folded: FoldedTicks }> {
  const ticks = versionTicks(network, content)
  const inserting = insertBlocks(client, content.blocks, ticks)
  inserting.catch(() => undefined)
  // The requests are sent before the fold takes the thread.
  await nextTurn()
  const folded = foldTicks(ticks, open, versions.next())
  const counts = { ticks: content.ticks.length, encoded: ticks.placed, folded: folded.ticks }
  checkCounts(network, content.blocks[0]?.block.number ?? 0, counts)
  return { inserting, folded }
}

/** Resolves once the ticks and candles of this flush and of the flush `before` are stored. Rejects only once no statement is under way. */
export async function finishInsert(
  client: ClickHouseClient,
  network: NetworkName,
  flush: StartedFlush,
  state: WriterState,
  before: Promise<void> = Promise.resolve(),
): Promise<void> {
  await together([before, flush.inserted])
  if (!flush.isFolded) await insertCandles(client, network, flush, state)
}

/** Call it only once the flush's ticks and candles are stored. Its columns are released at the end. */
export async function recordFlush(
  client: ClickHouseClient,
  network: NetworkName,
  flush: StartedFlush,
  state: WriterState,
): Promise<void> {
  const { sequence, version, tip, touched } = flush.event
  const mark = checkVersions(network, flush.placed, version, state)
  await together([
    recordChanges(client, network, touched, { sequence, version, block: tip.number }),
    insertBalances(client, flush.content.blocks),
  ])
  const rows = new RowBinary()
  for (const { message, position } of flush.placed) ledgerRows(rows, message, rowVersion(position))
  await insertLedgerRows(client, network, rows, state)
  state.flushed = mark
  flush.memory.release()
}

/** The condition takes ClickHouse 3 ms, as long as the insert itself: where no other process can be the writer it is left out. */
function insertLedgerRows(
  client: ClickHouseClient,
  network: NetworkName,
  rows: RowBinary,
  { isFenced, versions: { epoch } }: WriterState,
): Promise<void> {
  if (!isFenced) return insertBinary(client, LEDGER, rows)
  const condition = { columns: LEDGER_COLUMNS, where: IS_NEWEST_EPOCH, parameters: { network, epoch } }
  return inEpoch(network, epoch, () => insertBinary(client, LEDGER, rows, condition))
}

export function versionBlocks(network: NetworkName, placed: readonly PlacedMessage[]): VersionedBlock[] {
  return placed.flatMap(({ message, position }) =>
    blocksOf(message).map((block) => ({ network, block, version: rowVersion(position) })),
  )
}

function insertCandles(
  client: ClickHouseClient,
  network: NetworkName,
  { content, folded }: Pick<StartedFlush, 'content' | 'folded'>,
  state: WriterState,
): Promise<void> {
  return together([
    insertFolded(client, network, folded),
    completeCandles(client, network, content, folded.incomplete, state),
  ])
}

function lastBlock(placed: readonly PlacedMessage[]): FlushEvent['tip'] {
  const last = placed.at(-1)?.message
  if (!last) throw new Error('A flush has messages.')
  const { timestamp, finalized = tipOf(last).number } = last
  return { ...tipOf(last), timestamp, finalized }
}

/** The first block that the messages cover, with or without content. */
export function firstBlock(placed: readonly PlacedMessage[]): number {
  const first = placed[0]?.message
  if (!first) return 0
  return first.kind === 'range' ? first.from : first.number
}

/** Time of the first block with content. */
export function firstTime(placed: readonly PlacedMessage[]): UnixSeconds {
  return Math.min(...placed.map(({ message }) => blocksOf(message)[0]?.timestamp ?? message.timestamp))
}

export function flushedFact(network: NetworkName, placed: readonly PlacedMessage[], ms: number): AggregatorFact {
  const last = placed.at(-1)?.message
  return {
    kind: 'flushed',
    network,
    from: firstBlock(placed),
    to: last ? tipOf(last).number : 0,
    blocks: placed.length,
    ticks: placed.reduce((sum, { message }) => sum + ticksIn(message), 0),
    tipTimestamp: last?.timestamp ?? 0,
    ms,
  }
}
