/** The pools that the tables know. Their keys never change, so no node is asked for them again. */
import type { Pool, PoolId } from './pool.ts'

/** Those of `ids` that are stored, in no particular order; `initialSqrtPriceX96` is 0. */
export type StoredPools = (ids: readonly PoolId[]) => Promise<Pool[]>
