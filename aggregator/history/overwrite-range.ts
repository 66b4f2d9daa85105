/** A overwrite: final history as a job read it, in place of whatever is stored of its blocks. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { RangeOverwrite, UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { bucketStart } from '../candles/candle.ts'
import { recordChanges } from '../candles/changes.ts'
import { OpenCandles } from '../candles/open-candles.ts'
import { recompute, scopeOf, type TouchedPool } from '../candles/recompute.ts'
import type { Disk } from '../ledger/checkpoint.ts'
import type { LedgerBlock } from '../ledger/ledger.ts'
import { askGroups, filterGroups, poolGroups } from '../store/pool-groups.ts'
import type { Enqueue } from '../store/priority-queue.ts'
import { ask, loadSql, run, together } from '../store/store.ts'
import { finalRowVersion, finalTombstoneVersion } from '../store/version.ts'
import { foldBlocks } from '../write/fold-blocks.ts'
import { insertBalances, insertBlocks } from '../write/insert-blocks.ts'
import type { VersionedBlock } from '../write/rows.ts'
import type { ActiveOverwrite, WriterState } from '../write/writer-state.ts'
import { recordCoverage } from './coverage.ts'
import { retime } from './retime.ts'

const touchedBetween = loadSql(import.meta.url, './touched_between.sql')
const isTouchedSql = loadSql(import.meta.url, './is_touched.sql')
const buryUnstatedTicks = loadSql(import.meta.url, './bury_unstated_ticks.sql')
const buryUnstatedLiquidity = loadSql(import.meta.url, './bury_unstated_liquidity_changes.sql')
const olderLiquidity = `SELECT DISTINCT pool FROM liquidity_changes
  WHERE network = {network:String} AND block BETWEEN {first:UInt64} AND {last:UInt64}
    AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)}) AND version < {row:UInt64}`

const DAY = 86_400

/** Of one job, for one set of pools, each beginning where the one before it ends. */
export type OverwriteRun = readonly [RangeOverwrite, ...RangeOverwrite[]]

/** The stream waits for one turn at the most: each has so many ticks, or makes the candles of one resolution of so many pools. */
const TICKS_PER_TASK = 5_000
const POOLS_PER_TASK = 50

export type OverwriteOptions = {
  state: WriterState
  /** The time of the newest block that the stream has stored, or is storing. */
  tip(): UnixSeconds
  /** What the stream does, it does between two of these. */
  enqueue: Enqueue
  /** Blocks of the ledger that had another time. */
  onRetimed?(blocks: readonly LedgerBlock[]): void
  disk?: Pick<Disk, 'sync'> | undefined
}

/** May be repeated after a failure at any statement; the coverage, written last, says that it need not be. */
export async function overwriteRange(
  client: ClickHouseClient,
  overwrites: OverwriteRun,
  options: OverwriteOptions,
): Promise<void> {
  const { state, tip, enqueue, disk } = options
  const [first] = overwrites
  const last = overwrites.at(-1) ?? first
  const { network, job, pools = [] } = first
  const row = finalRowVersion(job)
  const contents = overwrites.flatMap(({ blocks }) => blocks.map((block) => ({ network, block, version: row })))
  const stated = { network, first: first.from, last: last.to, pools, job }
  const until = bucketStart(last.timestamp, DAY) + DAY
  const going = state.history
  // Given up until this is done: after a failure nobody knows what is stored.
  state.history = undefined
  const active = { until, isDisturbed: false }
  state.overwriting = active
  state.open.setAheadUntil(last.timestamp)
  /** In the turn in which the stream forgets what it held: it must have written nothing to these days before that. */
  const tell = (touched: readonly TouchedPool[], open?: OpenCandles) =>
    enqueue(async () => {
      if (open && active.isDisturbed) return false
      state.open.invalidate(
        touched.map(({ pool }) => pool),
        tip(),
      )
      await recordChanges(client, network, touched, { sequence: state.versions.next() })
      state.overwriting = undefined
      if (open) state.history = { job, pools: String(pools), next: last.to + 1, until, open }
      return true
    })
  let isTold = false
  if (!(await isTouched(client, stated, until, enqueue))) {
    // Buckets that begin after all that was there before have only what is stated from here on.
    const continues = going?.job === job && going.pools === String(pools) && going.next === first.from
    const open = continues
      ? going.open
      : new OpenCandles(Math.max(first.firstTimestamp, contents[0]?.block.timestamp ?? 0))
    const touched = await appendRange(client, stated, contents, { state, active, open, enqueue })
    isTold = touched !== undefined && (await tell(touched, open))
  }
  if (!isTold) await tell(await replaceRange(client, stated, contents, options))
  const blocks = contents.map(({ block }) => block)
  options.onRetimed?.(await retime(client, { ...stated, blocks }, enqueue))
  // What is covered is not read again.
  await disk?.sync()
  await recordCoverage(client, overwrites, row)
}

/** Where nothing was stored before, candles are folded in memory. Undefined where something else was written there meanwhile. */
async function appendRange(
  client: ClickHouseClient,
  stated: OverwrittenRange,
  contents: readonly VersionedBlock[],
  {
    state,
    active,
    open,
    enqueue,
  }: { state: WriterState; active: ActiveOverwrite; open: OpenCandles; enqueue: Enqueue },
): Promise<readonly TouchedPool[] | undefined> {
  const { network } = stated
  const touched: (readonly TouchedPool[])[] = []
  for (const piece of piecesOf(contents)) {
    const folded = await enqueue(async () => {
      if (active.isDisturbed) return undefined
      const begun = await foldBlocks(client, network, piece, { ...state, open })
      await begun.stored
      await together([begun.storeFolded(), insertBalances(client, piece)])
      return begun
    })
    if (!folded) return undefined
    for (const group of poolGroups(folded.unknown, POOLS_PER_TASK)) await folded.makeAnew(group, enqueue)
    touched.push(folded.touched)
  }
  await tombstoneLiquidity(client, stated, enqueue)
  return active.isDisturbed ? undefined : merged(touched.flat())
}

/** A pool of several pieces is told once. */
function merged(touched: readonly TouchedPool[]): readonly TouchedPool[] {
  const pools = new Map<PoolId, TouchedPool>()
  for (const { pool, first, last } of touched) {
    const known = pools.get(pool) ?? { pool, first, last }
    pools.set(pool, { pool, first: Math.min(known.first, first), last: Math.max(known.last, last) })
  }
  return [...pools.values()]
}

/** Pieces of so many ticks and more; a block is not cut. */
function piecesOf(contents: readonly VersionedBlock[]): VersionedBlock[][] {
  const pieces: VersionedBlock[][] = []
  let rows = Number.POSITIVE_INFINITY
  for (const content of contents) {
    if (rows >= TICKS_PER_TASK) {
      pieces.push([])
      rows = 0
    }
    pieces.at(-1)?.push(content)
    rows += content.block.ticks.length + content.block.liquidity.length
  }
  return pieces
}

/** Whether anything was ever stored of these blocks, or of later ones up to a second. */
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

type OverwrittenRange = { network: NetworkName; first: number; last: number; pools: readonly PoolId[]; job: number }

/** Over whatever is stored of these blocks: what is not stated of them is buried, and the tables make their candles anew. */
async function replaceRange(
  client: ClickHouseClient,
  stated: OverwrittenRange,
  contents: readonly VersionedBlock[],
  { state, tip, enqueue }: OverwriteOptions,
): Promise<readonly TouchedPool[]> {
  for (const piece of piecesOf(contents)) {
    await enqueue(() => together([insertBlocks(client, piece), insertBalances(client, piece)]))
  }
  await tombstoneLiquidity(client, stated, enqueue)
  const { network, job, ...between } = stated
  const parameters = { network, ...between, row: finalRowVersion(job).toString() }
  const touched = await askGroups(filterGroups(stated.pools), (pools) =>
    ask<TouchedPool & { has_older: 0 | 1 }>(client, touchedBetween, { ...parameters, pools }),
  )
  const older = touched.filter(({ has_older }) => has_older)
  const tombstone = finalTombstoneVersion(job).toString()
  for (let start = 0; start < older.length; start += POOLS_PER_TASK) {
    const { pools, first: since, last: until } = scopeOf(older.slice(start, start + POOLS_PER_TASK))
    await enqueue(() => run(client, buryUnstatedTicks, { ...parameters, pools, since, until, tombstone }))
  }
  for (let start = 0; start < touched.length; start += POOLS_PER_TASK) {
    const group = touched.slice(start, start + POOLS_PER_TASK)
    const scope = scopeOf(group)
    // The stream may have read coarser candles before they are made of what is stated: it folds on none of them after this turn.
    await recompute(client, network, scope, state, (task) =>
      enqueue(async () => {
        const done = await task()
        state.open.invalidate(scope.pools, tip())
        return done
      }),
    )
  }
  return touched
}

/** FINAL reads all that the key allows: it is asked of the pools alone that have something older there. */
async function tombstoneLiquidity(
  client: ClickHouseClient,
  { job, ...stated }: OverwrittenRange,
  enqueue: Enqueue,
): Promise<void> {
  const parameters = { ...stated, row: finalRowVersion(job).toString() }
  const found = await askGroups(filterGroups(stated.pools), (pools) =>
    ask<{ pool: PoolId }>(client, olderLiquidity, { ...parameters, pools }),
  )
  const tombstone = finalTombstoneVersion(job).toString()
  for (const pools of poolGroups(
    found.map(({ pool }) => pool),
    POOLS_PER_TASK,
  )) {
    await enqueue(() => run(client, buryUnstatedLiquidity, { ...parameters, pools, tombstone }))
  }
}

/** Messages in as few runs as can be, none of them with many more ticks than this. */
export function runsOf(overwrites: readonly RangeOverwrite[], mostTicks: number): OverwriteRun[] {
  const runs: [RangeOverwrite, ...RangeOverwrite[]][] = []
  let ticks = 0
  for (const one of overwrites) {
    const run = runs.at(-1)
    const before = run?.at(-1)
    if (run && before && ticks < mostTicks && goesOn(before, one)) run.push(one)
    else {
      runs.push([one])
      ticks = 0
    }
    ticks += one.blocks.reduce((sum, block) => sum + block.ticks.length, 0)
  }
  return runs
}

function goesOn(before: RangeOverwrite, next: RangeOverwrite): boolean {
  return before.job === next.job && before.to + 1 === next.from && String(before.pools) === String(next.pools)
}
