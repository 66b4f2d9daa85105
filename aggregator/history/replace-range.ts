/** Replace: rows of a range over the stored rows of its blocks. Other rows get tombstones, and ClickHouse recomputes the candles. */
import type { ClickHouseClient } from '@clickhouse/client'
import { sliceColumns, ticksPerBlock } from '../../ingest/columns/tick-columns.ts'
import { pieces } from '../../ingest/lib/pieces.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { recompute, scopeOf, type TouchedPool } from '../candles/recompute.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { askGroups, filterGroups, poolGroups } from '../store/pool-groups.ts'
import type { Enqueue } from '../store/priority-queue.ts'
import { ask, loadSql, together } from '../store/store.ts'
import { tombstoneRows } from '../store/tombstone-rows.ts'
import { finalRowVersion, finalTombstoneVersion } from '../store/version.ts'
import { MAX_TICKS_PER_FLUSH } from '../write/flush.ts'
import { insertBalances, insertBlocks } from '../write/insert-blocks.ts'
import type { VersionedContent } from '../write/rows.ts'
import { versionTicks } from '../write/tick-rows.ts'
import { isStreamQuiet, tipTime, type WriterState } from '../write/writer-state.ts'

const touchedBetween = loadSql(import.meta.url, './touched_between.sql')
const olderLiquidity = `SELECT DISTINCT pool FROM liquidity_changes
  WHERE network = {network:String} AND block BETWEEN {first:UInt64} AND {last:UInt64}
    AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)}) AND version < {row:UInt64}`

/**
 * A task bounds how long the stream waits: it inserts so many ticks, or recomputes one resolution of so many pools. Where no stream waits,
 * larger inserts halve ClickHouse's time per tick, 15 instead of 29 µs, and a range with 20,000 pools takes a third of the time.
 */
const TICKS_PER_TASK = { besideStream: 5_000, alone: MAX_TICKS_PER_FLUSH }
const POOLS_PER_TASK = { besideStream: 50, alone: 500 }

export function poolsPerTask(state: WriterState): number {
  return isStreamQuiet(state) ? POOLS_PER_TASK.alone : POOLS_PER_TASK.besideStream
}

/** Blocks that a job overwrites; all pools where `pools` is empty. */
export type OverwrittenRange = {
  network: NetworkName
  first: number
  last: number
  pools: readonly PoolId[]
  job: number
}

export async function replaceRange(
  client: ClickHouseClient,
  range: OverwrittenRange,
  content: VersionedContent,
  { state, ledger, enqueue }: { state: WriterState; ledger: Ledger; enqueue: Enqueue },
): Promise<readonly TouchedPool[]> {
  for (const piece of piecesOf(content, state)) {
    await enqueue(() => {
      const ticks = versionTicks(range.network, piece)
      return together([insertBlocks(client, piece.blocks, ticks), insertBalances(client, piece.blocks)])
    })
  }
  await tombstoneLiquidity(client, range, state, enqueue)
  const { job, ...between } = range
  const row = finalRowVersion(job)
  const touched = await askGroups(filterGroups(range.pools), (pools) =>
    ask<TouchedPool & { has_older: 0 | 1 }>(client, touchedBetween, { ...between, row: row.toString(), pools }),
  )
  const older = touched.filter(({ has_older }) => has_older)
  const size = poolsPerTask(state)
  for (const group of pieces(older, size)) {
    const { pools, first: since, last: until } = scopeOf(group)
    const versions = { below: row, tombstone: finalTombstoneVersion(job) }
    await enqueue(() => tombstoneRows(client, { table: 'ticks', ...between, pools, since, until, ...versions }))
  }
  for (const group of pieces(touched, size)) {
    const scope = scopeOf(group)
    // The stream may have cached coarser candles that were recomputed before all ticks of the range counted: drop them in the same task.
    await recompute(client, range.network, scope, state, (task) =>
      enqueue(async () => {
        const done = await task()
        state.open.invalidate(scope.pools, tipTime(ledger))
        return done
      }),
    )
  }
  return touched
}

/** FINAL reads all that the key allows, so only pools that have an older row there are named. */
export async function tombstoneLiquidity(
  client: ClickHouseClient,
  { job, ...between }: OverwrittenRange,
  state: WriterState,
  enqueue: Enqueue,
): Promise<void> {
  const row = finalRowVersion(job)
  const found = await askGroups(filterGroups(between.pools), (pools) =>
    ask<{ pool: PoolId }>(client, olderLiquidity, { ...between, row: row.toString(), pools }),
  )
  const versions = { below: row, tombstone: finalTombstoneVersion(job) }
  for (const pools of poolGroups(
    found.map(({ pool }) => pool),
    poolsPerTask(state),
  )) {
    await enqueue(() => tombstoneRows(client, { table: 'liquidity_changes', ...between, pools, ...versions }))
  }
}

/** Pieces of `TICKS_PER_TASK` rows or more; a block is not cut. */
export function piecesOf({ blocks, ticks }: VersionedContent, state: WriterState): VersionedContent[] {
  const size = isStreamQuiet(state) ? TICKS_PER_TASK.alone : TICKS_PER_TASK.besideStream
  const counts = ticksPerBlock(
    blocks.map(({ block }) => block),
    ticks,
  )
  const found: VersionedContent[] = []
  let [first, from, to, rows] = [0, 0, 0, 0]
  for (const [index, { block }] of blocks.entries()) {
    const count = counts[index] ?? 0
    to += count
    rows += count + block.liquidity.length
    if (rows < size && index + 1 < blocks.length) continue
    found.push({ blocks: blocks.slice(first, index + 1), ticks: sliceColumns(ticks, from, to) })
    ;[first, from, rows] = [index + 1, to, 0]
  }
  return found
}
