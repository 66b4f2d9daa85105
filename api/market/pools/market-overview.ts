/** All that the page compares: pairs of trusted tokens, and new pools, with their swaps by side from one bounded statement. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { Problem } from '../../lib/problem.ts'
import type { NewPoolId } from './new-pools.ts'
import { listedPools, type NewPool, type PairSummary, readFigures, summarizeNewPools, summarizePairs } from './pairs.ts'
import { poolOn } from './pool-lookups.ts'
import type { MarketStore } from './pool-state.ts'
import { readSides } from './sides.ts'

export type MarketOverview = { pairs: readonly PairSummary[]; newest: readonly NewPool[] }

export async function readOverview(
  reader: ClickHouseClient,
  store: MarketStore,
  now: UnixSeconds,
  newPools: Promise<readonly NewPoolId[]>,
): Promise<MarketOverview> {
  // Together: a rejection of one that waits for the other would be unhandled.
  const [listed, ids] = await Promise.all([listedPools(store), unlessTemporary(newPools, [])])
  // A rollback may have undone one since.
  const found = (await Promise.all(ids.map(({ network, pool }) => poolOn(store.pools, pool, [network])))).flat()
  const figures = await readFigures(store, [...new Set([...listed, ...found])], now)
  const sides = await unlessTemporary(readSides(reader, figures, now), new Map())
  const isFound = new Set(found)
  const [pairs, newest] = await Promise.all([
    summarizePairs(store, figures.slice(0, listed.length), now, sides),
    summarizeNewPools(
      store,
      figures.filter(({ listing }) => isFound.has(listing)),
      now,
      sides,
    ),
  ])
  return { pairs, newest }
}

/** The pairs are shown also where a statement for figures beside them reaches a limit of the store: its part is left out. */
async function unlessTemporary<T>(answer: Promise<T>, instead: T): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Problem) return instead
    throw error
  }
}
