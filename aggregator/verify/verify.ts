/** Verification: every bucket beside what its ticks come to, and every count of ticks beside the ticks. */
import type { ClickHouseClient } from '@clickhouse/client'
import { pause } from '../../ingest/lib/wait.ts'
import type { BlockRange } from '../../ingest/model/block-range.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { Resolution } from '../candles/candle.ts'
import { oldestWholeDay } from '../candles/retention.ts'
import { slicesOf } from '../candles/slices.ts'
import { gapsIn } from '../history/coverage.ts'
import { poolsOfFilters } from '../history/pool-filter.ts'
import { filterGroups } from '../store/pool-groups.ts'
import { ask, loadSql } from '../store/store.ts'

const wrongCandles = loadSql(import.meta.url, './wrong_candles.sql')
const wrongBlocks = loadSql(import.meta.url, './wrong_blocks.sql')
const wrongCoverage = loadSql(import.meta.url, '../history/wrong_coverage.sql')

/** A count of ticks and their digest (see digest.ts). */
type Tally = { ticks: string; digest: string }

/** Stored and counted values; undefined where there is none. */
export type Difference =
  | {
      kind: 'candle'
      pool: PoolId
      resolution: Resolution
      start: UnixSeconds
      /** Open, high, low, close, the same of spot prices, both volumes, dollars, trades. */
      stored: readonly string[] | undefined
      counted: readonly string[] | undefined
    }
  | { kind: 'block'; number: number; stored: Tally | undefined; counted: Tally }
  | { kind: 'coverage'; from: number; to: number; pools: readonly PoolId[]; stored: Tally; counted: Tally }

export type VerifyOptions = {
  network: NetworkName
  /** The days from `from` to `to`, both included; everything where absent. */
  from?: UnixSeconds | undefined
  to?: UnixSeconds | undefined
  onProgress?: (share: number) => void
  signal: AbortSignal
}

/** A row may differ while it is being written: differences are read again after this. */
const RECHECK_MS = 1_500
const MAX_DIFFERENCES = 10_000
const BLOCKS_PER_QUERY = 2_000_000
/** Their ends go into the URL. */
const MAX_RANGES = 2_000

export async function* verify(client: ClickHouseClient, options: VerifyOptions): AsyncGenerator<Difference> {
  const { network, to = 2 ** 32 - 1, signal, onProgress } = options
  // What was made of ticks that are gone has nothing to be held against.
  const from = Math.max(options.from ?? 0, await oldestWholeDay(client))
  const slices = await slicesOf(client, network, { from, to })
  for (const [index, slice] of slices.entries()) {
    yield* confirmed(() => candlesOf(client, { network, ...slice, limit: MAX_DIFFERENCES }), signal)
    onProgress?.((index + 1) / slices.length)
  }
  // Blocks have no days of their own: a part of the time is verified by its candles.
  if (options.from !== undefined || options.to !== undefined) return
  const stated = await readStated(client, network)
  const covered = mergedOf(stated)
  for (const chunk of await chunksOf(client, network, from)) {
    for (const piece of piecesOf(chunk, covered)) {
      yield* confirmed(() => blocksOf(client, network, piece, covered), signal)
    }
  }
  for (const one of stated) {
    // What a later job stated of the same blocks counts instead.
    if (
      one.firstTime < from ||
      stated.some((other) => other.job > one.job && other.from <= one.to && other.to >= one.from)
    )
      continue
    yield* confirmed(() => coverageOf(client, network, one), signal)
  }
}

/** Differences that are found twice. */
async function* confirmed(look: () => Promise<Difference[]>, signal: AbortSignal): AsyncGenerator<Difference> {
  signal.throwIfAborted()
  const first = await look()
  if (first.length === 0) return
  await pause(RECHECK_MS, signal)
  signal.throwIfAborted()
  const known = new Set(first.map((one) => JSON.stringify(one)))
  for (const one of await look()) if (known.has(JSON.stringify(one))) yield one
}

type WrongCandleRow = {
  pool: PoolId
  resolution: Resolution
  start: UnixSeconds
  stored: string[]
  counted: string[]
  has_stored: number | boolean
  has_counted: number | boolean
}

async function candlesOf(
  client: ClickHouseClient,
  scope: { network: NetworkName; pools: readonly PoolId[]; from: number; to: number; limit: number },
): Promise<Difference[]> {
  const rows = await ask<WrongCandleRow>(client, wrongCandles, scope)
  return rows.map(({ pool, resolution, start, stored, counted, has_stored, has_counted }) => ({
    kind: 'candle',
    pool,
    resolution,
    start,
    stored: has_stored ? stored : undefined,
    counted: has_counted ? counted : undefined,
  }))
}

type WrongBlockRow = {
  number: number
  is_known: number | boolean
  stored_ticks: string
  stored_digest: string
  counted_ticks: string
  counted_digest: string
}

async function blocksOf(
  client: ClickHouseClient,
  network: NetworkName,
  { from, to }: BlockRange,
  covered: readonly BlockRange[],
): Promise<Difference[]> {
  const near = covered.filter((range) => range.from <= to && range.to >= from)
  const rows = await ask<WrongBlockRow>(client, wrongBlocks, {
    network,
    from,
    to,
    firsts: near.map((range) => range.from),
    lasts: near.map((range) => range.to),
    limit: MAX_DIFFERENCES,
  })
  return rows.map((row) => ({
    kind: 'block',
    number: row.number,
    stored: row.is_known ? { ticks: row.stored_ticks, digest: row.stored_digest } : undefined,
    counted: { ticks: row.counted_ticks, digest: row.counted_digest },
  }))
}

/** A chunk of blocks, cut where a piece would touch more covered ranges than a statement takes. */
function piecesOf(chunk: BlockRange, covered: readonly BlockRange[]): BlockRange[] {
  const near = covered.filter((range) => range.from <= chunk.to && range.to >= chunk.from)
  const pieces: BlockRange[] = []
  let { from } = chunk
  for (let index = MAX_RANGES; index < near.length; index += MAX_RANGES) {
    const to = (near[index]?.from ?? chunk.to) - 1
    pieces.push({ from, to })
    from = to + 1
  }
  return [...pieces, { from, to: chunk.to }]
}

type StoredCoverage = BlockRange & Tally & { firstTime: UnixSeconds; job: number; pools: readonly PoolId[] }

async function coverageOf(
  client: ClickHouseClient,
  network: NetworkName,
  stated: StoredCoverage,
): Promise<Difference[]> {
  const { from, to, pools, ticks, digest } = stated
  let [countedTicks, countedDigest] = [0n, 0n]
  for (const group of filterGroups(pools)) {
    const parameters = { network, from, to, pools: group }
    const [row] = await ask<{ counted_ticks: string; counted_digest: string }>(client, wrongCoverage, parameters)
    countedTicks += BigInt(row?.counted_ticks ?? 0)
    countedDigest += BigInt(row?.counted_digest ?? 0)
  }
  const counted = { ticks: `${countedTicks}`, digest: `${BigInt.asUintN(64, countedDigest)}` }
  if (counted.ticks === ticks && counted.digest === digest) return []
  return [{ kind: 'coverage', from, to, pools, stored: { ticks, digest }, counted }]
}

async function readStated(client: ClickHouseClient, network: NetworkName): Promise<StoredCoverage[]> {
  const rows = await ask<Omit<StoredCoverage, 'pools'> & { filter: string }>(
    client,
    `SELECT toFloat64(first) AS "from", toFloat64(last) AS "to", filter, job, toUnixTimestamp(first_time) AS "firstTime", toString(ticks) AS ticks,
            toString(digest) AS digest
     FROM coverage FINAL WHERE network = {network:String} ORDER BY first`,
    { network },
  )
  const poolsOf = await poolsOfFilters(
    client,
    network,
    rows.map(({ filter }) => filter),
  )
  return rows.map(({ filter, ...row }) => ({ ...row, pools: poolsOf.get(filter) ?? [] }))
}

/** In order, without those that touch or overlap. */
function mergedOf(ranges: readonly BlockRange[]): BlockRange[] {
  const last = Math.max(-1, ...ranges.map(({ to }) => to))
  const holes = gapsIn({ from: 0, to: last }, ranges)
  return gapsIn({ from: 0, to: last }, holes)
}

/** All blocks that are stored from a second on, some millions at a time. */
async function chunksOf(client: ClickHouseClient, network: NetworkName, since: UnixSeconds): Promise<BlockRange[]> {
  const [row] = await ask<{ first: number; last: number }>(
    client,
    `SELECT toFloat64(min(block)) AS first, toFloat64(max(block)) AS last FROM (
       SELECT min(number) AS block FROM blocks WHERE network = {network:String} AND time >= toDateTime({since:UInt32}, 'UTC') HAVING count() > 0
       UNION ALL SELECT max(number) FROM blocks WHERE network = {network:String} AND time >= toDateTime({since:UInt32}, 'UTC') HAVING count() > 0
       UNION ALL SELECT min(block) FROM ticks WHERE network = {network:String} AND time >= toDateTime({since:UInt32}, 'UTC') HAVING count() > 0
       UNION ALL SELECT max(block) FROM ticks WHERE network = {network:String} AND time >= toDateTime({since:UInt32}, 'UTC') HAVING count() > 0)`,
    { network, since },
  )
  if (!row) return []
  const chunks: BlockRange[] = []
  for (let from = row.first; from <= row.last; from += BLOCKS_PER_QUERY) {
    chunks.push({ from, to: Math.min(row.last, from + BLOCKS_PER_QUERY - 1) })
  }
  return chunks
}
