/** An answer about one pool: its rows, its cost in credits, and how complete the stored range is. */
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { TimeRange } from '../query/time-range.ts'
import { clip, gapSinceTip, type PoolCoverage } from './cache/coverage.ts'
import { findLead, findPool, inOrderOf, type NamedPair } from './find/find.ts'
import type { PassedOver } from './find/lead.ts'
import type { PairView } from './model/orientation.ts'
import type { MarketStore } from './pools/pool-state.ts'

export type MarketAnswer<Row> = {
  view: PairView
  /** The pool that leads by volume alone, where it is another one. */
  passedOver: PassedOver | undefined
  /** Ascending. */
  rows: readonly Row[]
  /** Credits. */
  cost: number
  /** True where only a reorg can change the answer: the ledger, or a backfill, is past the end of the range. */
  closed: boolean
  /** The parts of the range that are not stored: `from ≤ time < to`, ascending. */
  incomplete: readonly TimeRange[]
  /** The parts of the range about which the endpoints disagree, without proof; likewise. */
  unproven: readonly TimeRange[]
  /** No reorg changes rows before it; undefined where no block is known to be final. */
  finalUntil: UnixSeconds | undefined
}

/** The pool that answers, and the number of networks that were searched for it. */
export type FoundPool = { view: PairView; probed: number; passedOver: PassedOver | undefined }

/** A query names a symbol, a pool or both: the query rules ensure one of them. */
export type NamedMarket = {
  symbol?: NamedPair | undefined
  pool?: PoolId | undefined
  networks?: readonly NetworkName[] | undefined
}

const DAY = 86_400
const WEEK = 7 * DAY

/** `range`: where swaps count; `end`: the end of the query, now at the latest. */
export async function findMarket(
  store: MarketStore,
  { symbol, pool, networks }: NamedMarket,
  range: TimeRange,
  end: UnixSeconds,
): Promise<FoundPool> {
  const scope = { networks, range, day: { from: end - DAY, to: end } }
  if (pool !== undefined) {
    const view = await findPool(store, pool, scope)
    return { view: symbol ? await inOrderOf(store.pools, symbol, view) : view, probed: 0, passedOver: undefined }
  }
  if (symbol !== undefined) return findLead(store, symbol, scope)
  throw new Error('A query names a symbol or a pool: the query rules ensure it.')
}

/** `range`: as queried. `swaps`: their number in the rows, for the cost. `closed`: new blocks do not change the answer. */
export function toAnswer<Row extends { time: UnixSeconds }>(
  found: FoundPool,
  rows: readonly Row[],
  of: {
    swaps: number
    range: TimeRange
    end: UnixSeconds
    closed: boolean
    coverage: PoolCoverage
    now: UnixSeconds
  },
): MarketAnswer<Row> {
  const { swaps, range, end, closed, coverage, now } = of
  const { view, probed, passedOver } = found
  const cost = costOf({ probed, swaps, oldest: rows[0]?.time, end })
  const asked = { from: range.from, to: end }
  const incomplete = clip([...coverage.gaps, ...gapSinceTip(coverage, now)], asked)
  const unproven = clip(coverage.unproven, asked)
  return { view, passedOver, rows, cost, closed, incomplete, unproven, finalUntil: coverage.finalUntil }
}

/** The part of the cost that does not depend on the answer. */
export function knownCost({ symbol, pool, networks }: NamedMarket): number {
  return 1 + (symbol === undefined || pool !== undefined ? 0 : (networks?.length ?? 1))
}

/** One credit, one for each network searched for a symbol, one for each 1,000 swaps and one for each week since the oldest row. */
function costOf(parts: { probed: number; swaps: number; oldest: UnixSeconds | undefined; end: UnixSeconds }): number {
  const { probed, swaps, oldest, end } = parts
  const weeks = oldest === undefined ? 0 : Math.max(0, Math.floor((end - oldest) / WEEK))
  return 1 + probed + Math.floor(swaps / 1_000) + weeks
}
