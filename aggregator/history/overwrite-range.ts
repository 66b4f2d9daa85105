/** A restatement: final history as a job read it, in place of whatever is stored of its blocks. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Restatement, UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { bucketStart } from '../candles/candle.ts'
import { recordChanges } from '../candles/changes.ts'
import { OpenBuckets } from '../candles/open-candles.ts'
import { recompute, scopeOf, type Touched } from '../candles/recompute.ts'
import type { Disk } from '../ledger/checkpoint.ts'
import type { LedgerBlock } from '../ledger/ledger.ts'
import { askGroups, filterGroups, poolGroups } from '../store/pool-groups.ts'
import type { InTurn } from '../store/priority-queue.ts'
import { ask, loadSql, run, together } from '../store/store.ts'
import { finalRowVersion, finalTombstoneVersion } from '../store/version.ts'
import { foldContents } from '../write/fold-blocks.ts'
import { insertBalances, insertContents } from '../write/insert-blocks.ts'
import type { RowContext } from '../write/rows.ts'
import type { Keeping, Restating } from '../write/writer-state.ts'
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
export type Run = readonly [Restatement, ...Restatement[]]

/** The stream waits for one turn at the most: each has so many ticks, or makes the candles of one resolution of so many pools. */
const TICKS_PER_TURN = 5_000
const POOLS_PER_TURN = 50

export type RestateOptions = {
  keeping: Keeping
  /** The time of the newest block that the stream has stored, or is storing. */
  tip(): UnixSeconds
  /** What the stream does, it does between two of these. */
  inTurn: InTurn
  /** Blocks of the ledger that had another time. */
  onRetimed?(blocks: readonly LedgerBlock[]): void
  disk?: Pick<Disk, 'sync'> | undefined
}

/** May be repeated after a failure at any statement; the coverage, written last, says that it need not be. */
export async function restate(client: ClickHouseClient, restatements: Run, options: RestateOptions): Promise<void> {
  const { keeping, tip, inTurn, disk } = options
  const [first] = restatements
  const last = restatements.at(-1) ?? first
  const { network, job, pools = [] } = first
  const row = finalRowVersion(job)
  const contents = restatements.flatMap(({ blocks }) => blocks.map((block) => ({ network, block, version: row })))
  const stated = { network, first: first.from, last: last.to, pools, job }
  const until = bucketStart(last.timestamp, DAY) + DAY
  const going = keeping.history
  // Given up until this is done: after a failure nobody knows what is stored.
  keeping.history = undefined
  const restating = { until, isDisturbed: false }
  keeping.restating = restating
  keeping.open.runsAhead(last.timestamp)
  /** In the turn in which the stream forgets what it held: it must have written nothing to these days before that. */
  const tell = (touched: readonly Touched[], open?: OpenBuckets) =>
    inTurn(async () => {
      if (open && restating.isDisturbed) return false
      keeping.open.forget(
        touched.map(({ pool }) => pool),
        tip(),
      )
      await recordChanges(client, network, touched, { sequence: keeping.versions.next() })
      keeping.restating = undefined
      if (open) keeping.history = { job, pools: String(pools), next: last.to + 1, until, open }
      return true
    })
  let isTold = false
  if (!(await isTouched(client, stated, until, inTurn))) {
    // Buckets that begin after all that was there before have only what is stated from here on.
    const goesOn = going?.job === job && going.pools === String(pools) && going.next === first.from
    const open = goesOn
      ? going.open
      : new OpenBuckets(Math.max(first.firstTimestamp, contents[0]?.block.timestamp ?? 0))
    const touched = await append(client, stated, contents, { keeping, restating, open, inTurn })
    isTold = touched !== undefined && (await tell(touched, open))
  }
  if (!isTold) await tell(await replace(client, stated, contents, options))
  const blocks = contents.map(({ block }) => block)
  options.onRetimed?.(await retime(client, { ...stated, blocks }, inTurn))
  // What is covered is not read again.
  await disk?.sync()
  await recordCoverage(client, restatements, row)
}

/** Where nothing was stored before, candles are folded in memory. Undefined where something else was written there meanwhile. */
async function append(
  client: ClickHouseClient,
  stated: Stated,
  contents: readonly RowContext[],
  { keeping, restating, open, inTurn }: { keeping: Keeping; restating: Restating; open: OpenBuckets; inTurn: InTurn },
): Promise<readonly Touched[] | undefined> {
  const { network } = stated
  const touched: (readonly Touched[])[] = []
  for (const piece of piecesOf(contents)) {
    const folding = await inTurn(async () => {
      if (restating.isDisturbed) return undefined
      const begun = await foldContents(client, network, piece, { ...keeping, open })
      await begun.stored
      await together([begun.storeFolded(), insertBalances(client, piece)])
      return begun
    })
    if (!folding) return undefined
    for (const group of poolGroups(folding.unknown, POOLS_PER_TURN)) await folding.makeAnew(group, inTurn)
    touched.push(folding.touched)
  }
  await buryLiquidity(client, stated, inTurn)
  return restating.isDisturbed ? undefined : merged(touched.flat())
}

/** A pool of several pieces is told once. */
function merged(touched: readonly Touched[]): readonly Touched[] {
  const pools = new Map<PoolId, Touched>()
  for (const { pool, first, last } of touched) {
    const known = pools.get(pool) ?? { pool, first, last }
    pools.set(pool, { pool, first: Math.min(known.first, first), last: Math.max(known.last, last) })
  }
  return [...pools.values()]
}

/** Pieces of so many ticks and more; a block is not cut. */
function piecesOf(contents: readonly RowContext[]): RowContext[][] {
  const pieces: RowContext[][] = []
  let rows = Number.POSITIVE_INFINITY
  for (const content of contents) {
    if (rows >= TICKS_PER_TURN) {
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
  { network, first, last, pools }: Stated,
  until: UnixSeconds,
  inTurn: InTurn,
): Promise<boolean> {
  for (const group of filterGroups(pools)) {
    const rows = await inTurn(() => ask(client, isTouchedSql, { network, first, last, until, pools: group }))
    if (rows.length > 0) return true
  }
  return false
}

type Stated = { network: NetworkName; first: number; last: number; pools: readonly PoolId[]; job: number }

/** Over whatever is stored of these blocks: what is not stated of them is buried, and the tables make their candles anew. */
async function replace(
  client: ClickHouseClient,
  stated: Stated,
  contents: readonly RowContext[],
  { keeping, tip, inTurn }: RestateOptions,
): Promise<readonly Touched[]> {
  for (const piece of piecesOf(contents)) {
    await inTurn(() => together([insertContents(client, piece), insertBalances(client, piece)]))
  }
  await buryLiquidity(client, stated, inTurn)
  const { network, job, ...between } = stated
  const parameters = { network, ...between, row: finalRowVersion(job).toString() }
  const touched = await askGroups(filterGroups(stated.pools), (pools) =>
    ask<Touched & { has_older: 0 | 1 }>(client, touchedBetween, { ...parameters, pools }),
  )
  const older = touched.filter(({ has_older }) => has_older)
  const tombstone = finalTombstoneVersion(job).toString()
  for (let start = 0; start < older.length; start += POOLS_PER_TURN) {
    const { pools, first: since, last: until } = scopeOf(older.slice(start, start + POOLS_PER_TURN))
    await inTurn(() => run(client, buryUnstatedTicks, { ...parameters, pools, since, until, tombstone }))
  }
  for (let start = 0; start < touched.length; start += POOLS_PER_TURN) {
    const group = touched.slice(start, start + POOLS_PER_TURN)
    const scope = scopeOf(group)
    // The stream may have read coarser candles before they are made of what is stated: it folds on none of them after this turn.
    await recompute(client, network, scope, keeping, (task) =>
      inTurn(async () => {
        const done = await task()
        keeping.open.forget(scope.pools, tip())
        return done
      }),
    )
  }
  return touched
}

/** FINAL reads all that the key allows: it is asked of the pools alone that have something older there. */
async function buryLiquidity(client: ClickHouseClient, { job, ...stated }: Stated, inTurn: InTurn): Promise<void> {
  const parameters = { ...stated, row: finalRowVersion(job).toString() }
  const found = await askGroups(filterGroups(stated.pools), (pools) =>
    ask<{ pool: PoolId }>(client, olderLiquidity, { ...parameters, pools }),
  )
  const tombstone = finalTombstoneVersion(job).toString()
  for (const pools of poolGroups(
    found.map(({ pool }) => pool),
    POOLS_PER_TURN,
  )) {
    await inTurn(() => run(client, buryUnstatedLiquidity, { ...parameters, pools, tombstone }))
  }
}

/** Messages in as few runs as can be, none of them with many more ticks than this. */
export function runsOf(restatements: readonly Restatement[], mostTicks: number): Run[] {
  const runs: [Restatement, ...Restatement[]][] = []
  let ticks = 0
  for (const one of restatements) {
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

function goesOn(before: Restatement, next: Restatement): boolean {
  return before.job === next.job && before.to + 1 === next.from && String(before.pools) === String(next.pools)
}
