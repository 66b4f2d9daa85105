/** Verification compares every bucket with the sum of its ticks, and every count of ticks with the ticks. */
import type { ClickHouseClient } from '@clickhouse/client'
import { pause } from '../../../ingest/lib/wait.ts'
import type { BlockRange } from '../../../ingest/model/block-range.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { oldestWholeDay } from '../../candles/retention.ts'
import { slicesOf } from '../../candles/slices.ts'
import { gapsIn } from '../../history/coverage.ts'
import { poolsOfFilters } from '../../history/pool-filter.ts'
import { ask, MAX_TIME } from '../../store/store.ts'
import { blocksOf, candlesOf, coverageOf, type Difference, type StoredCoverage } from './differences.ts'

export type VerifyOptions = {
  network: NetworkName
  /** The days from `from` to `to`, both included; everything where absent. */
  from?: UnixSeconds | undefined
  to?: UnixSeconds | undefined
  onProgress?: (share: number) => void
  signal: AbortSignal
}

/** A row may differ while it is being written: differences are read again after this. */
export const RECHECK_MS = 1_500
/** A question has a minute, and these take 4 s on two cores. */
const TICKS_PER_SLICE = 100_000
const BLOCKS_PER_QUERY = 200_000
/** Their ends go into the URL. */
const MAX_RANGES = 2_000

export async function* verify(client: ClickHouseClient, options: VerifyOptions): AsyncGenerator<Difference> {
  const { network, to = MAX_TIME, signal, onProgress } = options
  // Candles whose ticks have expired have nothing to be compared with.
  const from = Math.max(options.from ?? 0, await oldestWholeDay(client))
  const slices = await slicesOf(client, network, { from, to, ticksPerSlice: TICKS_PER_SLICE })
  for (const [index, slice] of slices.entries()) {
    yield* confirmed(() => candlesOf(client, { network, ...slice }), signal)
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
    // The row of a later job for the same blocks counts instead.
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

/** All blocks that are stored from a second on, some at a time. */
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
