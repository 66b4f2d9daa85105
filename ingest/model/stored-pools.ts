/** Pools in the tables. Their keys never change, so they are not requested from a node. */
import type { Pool, PoolId } from './pool.ts'

/** The stored ones of `ids`, in any order; `initialSqrtPriceX96` is 0. */
export type StoredPools = (ids: readonly PoolId[]) => Promise<Pool[]>
