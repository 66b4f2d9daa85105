/** Blocks that nobody has stored yet, into the tables: their rows, then their candles, folded in memory where memory knows enough. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { candleRow, readOpenCandles } from '../candles/candle-rows.ts'
import type { Bucket, OpenCandles } from '../candles/open-candles.ts'
import { type RecomputeContext, recompute, type TouchedPool } from '../candles/recompute.ts'
import { askGroups, poolGroups } from '../store/pool-groups.ts'
import type { Enqueue } from '../store/priority-queue.ts'
import { RowBinary } from '../store/row-binary.ts'
import { ask, insertBinary, loadSql, together } from '../store/store.ts'
import { insertBlocks } from './insert-blocks.ts'
import type { VersionedBlock } from './rows.ts'

const poolsAhead = loadSql(import.meta.url, './pools_ahead.sql')

/** Whoever keeps candles in memory asks for more than this himself. */
const MAX_REPORTED_BUCKETS = 2_000

/** Blocks whose rows are on their way. */
export type FoldedBlocks = {
  stored: Promise<void>
  /** To be called once the rows are stored; sooner only where it is folded, by whoever finds candles without ticks after a crash. */
  storeCandles(): Promise<void>
  /** The part of it that was folded in memory. */
  storeFolded(): Promise<void>
  /** Pools that memory knows too little of, whose candles `makeAnew` has the tables make. */
  unknown: readonly PoolId[]
  makeAnew(pools: readonly PoolId[], enqueue?: Enqueue): Promise<void>
  touched: readonly TouchedPool[]
  /** What `storeCandles` stores, where that is little and all of it was folded in memory. */
  buckets: readonly Bucket[] | undefined
  /** All of it was folded in memory, so that what comes next can be folded before these candles are stored. */
  isFolded: boolean
  /** Of its candles; those that the tables make have a higher one. */
  version: bigint
}

/**
 * `open` has to be given up where any of it fails.
 */
export async function foldBlocks(
  client: ClickHouseClient,
  network: NetworkName,
  contents: readonly VersionedBlock[],
  { open, ...recomputeContext }: RecomputeContext & { open: OpenCandles },
): Promise<FoldedBlocks> {
  const stored = insertBlocks(client, contents)
  // Whoever waits for it sees the failure. They set out before there is more to do.
  stored.catch(() => undefined)
  await nextTurn()
  const version = recomputeContext.versions.next()
  const candles = new RowBinary()
  const buckets: Bucket[] = []
  const unknown = open.fold(
    contents.map(({ block }) => block),
    (bucket) => {
      candleRow(candles, network, bucket, version)
      if (buckets.length <= MAX_REPORTED_BUCKETS) buckets.push(copyOf(bucket))
    },
  )
  const isFolded = unknown.length === 0

  /** Has the tables make the buckets that memory knows too little of, and takes them in. */
  async function makeAnew(pools: readonly PoolId[], enqueue: Enqueue = (task) => task()): Promise<void> {
    if (pools.length === 0) return
    const { first, last } = timesOf(contents)
    await recompute(client, network, { pools, first, last }, recomputeContext, enqueue)
    await enqueue(async () => {
      const [made, ahead] = await Promise.all([
        readOpenCandles(client, network, pools, last),
        readAhead(client, network, pools, last, contents.at(-1)?.block.number ?? 0),
      ])
      open.load(
        pools,
        made.filter(({ pool }) => !ahead.has(pool)),
        last,
      )
    })
  }

  const storeFolded = () => insertBinary(client, 'candles', candles)

  return {
    stored,
    touched: touchedBy(contents),
    buckets: isFolded && buckets.length <= MAX_REPORTED_BUCKETS ? buckets : undefined,
    isFolded,
    version,
    storeCandles: () => together([storeFolded(), makeAnew(unknown)]),
    storeFolded,
    unknown,
    makeAnew,
  }
}

/**
 * Pools whose ticks above the block, or candles, are stored before the stream has brought them, by an owner who has not heard yet that he is none:
 * what the tables made of them would count those twice.
 */
async function readAhead(
  client: ClickHouseClient,
  network: NetworkName,
  pools: readonly PoolId[],
  second: UnixSeconds,
  block: number,
): Promise<ReadonlySet<PoolId>> {
  const rows = await askGroups(poolGroups(pools), (pools) =>
    ask<{ pool: PoolId }>(client, poolsAhead, { network, pools, second, block }),
  )
  return new Set(rows.map(({ pool }) => pool))
}

function copyOf({ pool, resolution, start, candle }: Bucket): Bucket {
  const { execution, spot } = candle
  return { pool, resolution, start, candle: { ...candle, execution: { ...execution }, spot: { ...spot } } }
}

function touchedBy(contents: readonly VersionedBlock[]): TouchedPool[] {
  const touched = new Map<PoolId, TouchedPool>()
  const touch = (pool: PoolId, second: UnixSeconds) => {
    const known = touched.get(pool)
    if (known) known.last = Math.max(known.last, second)
    else touched.set(pool, { pool, first: second, last: second })
  }
  for (const { block } of contents) {
    for (const things of [block.ticks, block.liquidity, block.balances]) {
      for (const { pool } of things) touch(pool, block.timestamp)
    }
  }
  return [...touched.values()]
}

function timesOf(contents: readonly VersionedBlock[]): { first: UnixSeconds; last: UnixSeconds } {
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const { block } of contents) {
    if (block.ticks.length === 0) continue
    first = Math.min(first, block.timestamp)
    last = Math.max(last, block.timestamp)
  }
  return { first, last }
}
