/** Lists of pools, cut into groups that one statement takes: parameters go into the URL, and ClickHouse reads at most 128 kB of each. */
import { pieces } from '../../ingest/lib/pieces.ts'
import type { PoolId } from '../../ingest/model/pool.ts'

/** Ids of v4 take 75 bytes each in a URL. */
export const POOLS_PER_STATEMENT = 1_000

/** In order; none for an empty list. */
export function poolGroups(pools: readonly PoolId[], size: number = POOLS_PER_STATEMENT): (readonly PoolId[])[] {
  return pieces(pools, size)
}

/** For statements that read an empty list as all pools. */
export function filterGroups(pools: readonly PoolId[]): (readonly PoolId[])[] {
  return pools.length === 0 ? [[]] : poolGroups(pools)
}

/** The rows of all groups, queried one after the other. */
export async function askGroups<Row>(
  groups: readonly (readonly PoolId[])[],
  ask: (pools: readonly PoolId[]) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const answers: (readonly Row[])[] = []
  for (const group of groups) answers.push(await ask(group))
  return answers.flat()
}
