/**
 * A range overwrite: final history as a job read it, in place of the stored rows of its blocks. Where nothing was stored, candles
 * are folded in memory (foldRange); elsewhere ClickHouse recomputes them (replace-range.ts). For 120,000 ticks of 400 pools, folding takes
 * 5 to 7 s of ClickHouse's CPU, recomputing 41 to 43 s.
 */
import type { ClickHouseClient } from '@clickhouse/client'
import { columnsOf, concatColumns } from '../../ingest/columns/tick-columns.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import { bucketStart } from '../candles/candle.ts'
import { recordChanges } from '../candles/changes.ts'
import { OpenCandles } from '../candles/open-candles.ts'
import { mergeTouched, type TouchedPool } from '../candles/recompute.ts'
import type { Disk } from '../ledger/checkpoint.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { LedgerObserver } from '../ledger/observer.ts'
import { filterGroups, poolGroups } from '../store/pool-groups.ts'
import type { Enqueue } from '../store/priority-queue.ts'
import { ask, loadSql, together } from '../store/store.ts'
import { finalRowVersion } from '../store/version.ts'
import { completeCandles } from '../write/complete-candles.ts'
import { insertAndFold } from '../write/flush.ts'
import { insertFolded, touchedPools } from '../write/fold-ticks.ts'
import { insertBalances } from '../write/insert-blocks.ts'
import type { VersionedContent } from '../write/rows.ts'
import { type ActiveOverwrite, tipTime, type WriterState } from '../write/writer-state.ts'
import { recordCoverage } from './coverage.ts'
import type { OverwriteRun } from './overwrite-run.ts'
import { type OverwrittenRange, piecesOf, poolsPerTask, replaceRange, tombstoneLiquidity } from './replace-range.ts'
import { retime } from './retime.ts'

const isTouchedSql = loadSql(import.meta.url, './is_touched.sql')

const DAY = 86_400

export type OverwriteOptions = {
  state: WriterState
  ledger: Ledger
  /** The stream writes between two of these tasks. */
  enqueue: Enqueue
  disk?: Pick<Disk, 'sync'> | undefined
  observer: Pick<LedgerObserver, 'aroundOverwrite' | 'recomputed'>
}

/** May be repeated after a failure at any statement, until the coverage is recorded, which comes last. */
export async function overwriteRange(
  client: ClickHouseClient,
  overwrites: OverwriteRun,
  options: OverwriteOptions,
): Promise<void> {
  await options.observer.aroundOverwrite(overwrites, () => writeRange(client, overwrites, options))
}

async function writeRange(
  client: ClickHouseClient,
  overwrites: OverwriteRun,
  { state, ledger, enqueue, disk, observer }: OverwriteOptions,
): Promise<void> {
  const [first] = overwrites
  const last = overwrites.at(-1) ?? first
  const { network, job, pools = [] } = first
  const row = finalRowVersion(job)
  const blocks = overwrites.flatMap((one) => one.blocks.map((block) => ({ network, block, version: row })))
  // Messages of Kafka come without columns: they are made once.
  const stated = overwrites.map((one) => ({ ...one, columns: one.columns ?? columnsOf(one.blocks) }))
  const content = { blocks, ticks: concatColumns(stated.map(({ columns }) => columns)) }
  const range = { network, first: first.from, last: last.to, pools, job }
  const until = bucketStart(last.timestamp, DAY) + DAY
  const before = state.history
  // Dropped until the end: after a failure the last statement that took effect is unknown.
  state.history = undefined
  const active = { until, isDisturbed: false }
  state.overwriting = active
  state.open.setAheadUntil(last.timestamp)
  /** One task with the invalidation: false where the stream wrote to these days before it, so that the folded candles are wrong. */
  const announce = (touched: readonly TouchedPool[], open?: OpenCandles) =>
    enqueue(async () => {
      if (open && active.isDisturbed) return false
      state.open.invalidate(
        touched.map(({ pool }) => pool),
        tipTime(ledger),
      )
      await recordChanges(client, network, touched, { sequence: state.versions.next() })
      state.overwriting = undefined
      if (open) state.history = { job, pools: String(pools), next: last.to + 1, until, open }
      return true
    })
  let announced: readonly TouchedPool[] | undefined
  if (!(await isTouched(client, range, until, enqueue))) {
    const isNext = before?.job === job && before.pools === String(pools) && before.next === first.from
    // All buckets that begin after this have only ticks of this range.
    const completeAfter = Math.max(first.firstTimestamp, blocks[0]?.block.timestamp ?? 0)
    const open = isNext ? before.open : new OpenCandles(completeAfter)
    const touched = await foldRange(client, range, content, { state, active, open, enqueue })
    if (touched && (await announce(touched, open))) announced = touched
  }
  if (!announced) {
    announced = await replaceRange(client, range, content, { state, ledger, enqueue })
    await announce(announced)
  }
  await observer.recomputed(announced)
  ledger.retime(await retime(client, { ...range, blocks: blocks.map(({ block }) => block) }, enqueue))
  // A covered range is not read again, so its rows have to be on the disk.
  await disk?.sync()
  await recordCoverage(client, stated, row)
}

/** Undefined where the stream has written to these days meanwhile. */
async function foldRange(
  client: ClickHouseClient,
  range: OverwrittenRange,
  content: VersionedContent,
  context: { state: WriterState; active: ActiveOverwrite; open: OpenCandles; enqueue: Enqueue },
): Promise<readonly TouchedPool[] | undefined> {
  const { state, active, open, enqueue } = context
  const { network } = range
  const touched: (readonly TouchedPool[])[] = []
  for (const piece of piecesOf(content, state)) {
    const folded = await enqueue(async () => {
      if (active.isDisturbed) return undefined
      const { inserting, folded } = await insertAndFold(client, network, piece, { ...state, open })
      await inserting
      await together([insertFolded(client, network, folded), insertBalances(client, piece.blocks)])
      return folded
    })
    if (!folded) return undefined
    for (const group of poolGroups(folded.incomplete, poolsPerTask(state)))
      await completeCandles(client, network, piece, group, { ...state, open }, enqueue)
    touched.push(touchedPools(piece))
  }
  await tombstoneLiquidity(client, range, state, enqueue)
  return active.isDisturbed ? undefined : mergeTouched(touched.flat())
}

/** Whether a row was ever stored of these blocks, or of later ones before a second. */
async function isTouched(
  client: ClickHouseClient,
  { network, first, last, pools }: OverwrittenRange,
  until: UnixSeconds,
  enqueue: Enqueue,
): Promise<boolean> {
  for (const group of filterGroups(pools)) {
    const rows = await enqueue(() => ask(client, isTouchedSql, { network, first, last, until, pools: group }))
    if (rows.length > 0) return true
  }
  return false
}
