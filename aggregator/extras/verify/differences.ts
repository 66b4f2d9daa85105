/** Differences between stored and counted values: of candles, of blocks of the ledger, and of ranges that a job has overwritten. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { BlockRange } from '../../../ingest/model/block-range.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import type { Resolution } from '../../candles/candle.ts'
import { countTicks } from '../../history/coverage.ts'
import { ask, loadSql, MAX_TIME } from '../../store/store.ts'

const wrongCandles = loadSql(import.meta.url, './wrong_candles.sql')
const wrongBlocks = loadSql(import.meta.url, './wrong_blocks.sql')

/** A statement returns at most these. */
export const MAX_DIFFERENCES = 10_000

/** A count of ticks and their digest (see digest.ts). */
type Tally = { ticks: string; digest: string }

/** Stored and counted values; undefined where there is none. */
export type Difference =
  | {
      kind: 'candle'
      pool: PoolId
      resolution: Resolution
      start: UnixSeconds
      /** Open, high, low, close, the same of spot prices, both volumes, dollars, trades, buys, their parts of both volumes, trades of 0 for 0. */
      stored: readonly string[] | undefined
      counted: readonly string[] | undefined
    }
  | { kind: 'block'; number: number; stored: Tally | undefined; counted: Tally }
  | { kind: 'coverage'; from: number; to: number; pools: readonly PoolId[]; stored: Tally; counted: Tally }

type WrongCandleRow = {
  pool: PoolId
  resolution: Resolution
  start: UnixSeconds
  stored: string[]
  counted: string[]
  has_stored: number | boolean
  has_counted: number | boolean
}

export async function candlesOf(
  client: ClickHouseClient,
  scope: { network: NetworkName; pools: readonly PoolId[]; from: UnixSeconds; to: UnixSeconds },
): Promise<Difference[]> {
  const rows = await ask<WrongCandleRow>(client, wrongCandles, { ...scope, limit: MAX_DIFFERENCES })
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

export async function blocksOf(
  client: ClickHouseClient,
  network: NetworkName,
  { from, to, since = 0, until = MAX_TIME }: BlockRange & { since?: UnixSeconds; until?: UnixSeconds },
  covered: readonly BlockRange[],
): Promise<Difference[]> {
  const near = covered.filter((range) => range.from <= to && range.to >= from)
  const rows = await ask<WrongBlockRow>(client, wrongBlocks, {
    network,
    from,
    to,
    since,
    until,
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

export type StoredCoverage = BlockRange & Tally & { firstTime: UnixSeconds; job: number; pools: readonly PoolId[] }

export async function coverageOf(
  client: ClickHouseClient,
  network: NetworkName,
  stated: StoredCoverage,
): Promise<Difference[]> {
  const { from, to, pools, ticks, digest } = stated
  const counted = await countTicks(client, { network, from, to, pools })
  if (counted.ticks === ticks && counted.digest === digest) return []
  return [{ kind: 'coverage', from, to, pools, stored: { ticks, digest }, counted }]
}
