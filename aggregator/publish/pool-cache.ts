/** Pools by id, with their tokens: a record names both. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Pool, PoolId } from '../../ingest/model/pool.ts'
import { storedPools } from '../store/stored-pools.ts'

export type PoolCache = {
  add(pools: readonly Pool[]): void
  /** Stored pools among `ids`. */
  get(ids: Iterable<PoolId>): Promise<ReadonlyMap<PoolId, Pool>>
}

const MAX_POOLS = 20_000

export function openPoolCache(client: ClickHouseClient, network: NetworkName): PoolCache {
  const cached = new Map<PoolId, Pool>()
  const read = storedPools(client, network)

  function add(pools: readonly Pool[]): void {
    if (cached.size + pools.length > MAX_POOLS) cached.clear()
    for (const pool of pools) cached.set(pool.id, pool)
  }

  return {
    add,
    async get(ids) {
      const wanted = [...new Set(ids)]
      const found = new Map(wanted.flatMap((id) => [cached.get(id) ?? []].flat().map((pool) => [id, pool] as const)))
      const pools = await read(wanted.filter((id) => !found.has(id)))
      add(pools)
      for (const pool of pools) found.set(pool.id, pool)
      return found
    },
  }
}
