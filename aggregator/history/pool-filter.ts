/** A pool filter as the tables name it: the ids themselves, or a digest of them where they are too many for the parameter of a statement. */
import { createHash } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { POOLS_PER_STATEMENT } from '../store/pool-groups.ts'
import { ask, insertRows } from '../store/store.ts'

const DIGEST = 'sha256:'

/** Ids in order, comma separated; empty: all pools. */
export function filterOf(pools: readonly PoolId[] = []): string {
  const ids = [...pools].sort().join(',')
  return pools.length > POOLS_PER_STATEMENT ? DIGEST + createHash('sha256').update(ids).digest('hex') : ids
}

/** Whether the ids of a filter are in `pool_filters`, and not in its name. */
export function isDigest(filter: string): boolean {
  return filter.startsWith(DIGEST)
}

/** The ids in a name that is no digest. */
export function poolsIn(filter: string): readonly PoolId[] {
  return filter === '' ? [] : (filter.split(',') as PoolId[])
}

/** Stores the pools of a digest, before any row that names it. */
export async function recordFilter(
  client: ClickHouseClient,
  network: NetworkName,
  pools: readonly PoolId[] = [],
): Promise<void> {
  const filter = filterOf(pools)
  if (!isDigest(filter) || (await readFilter(client, network, filter)).length > 0) return
  await insertRows(client, 'pool_filters', (out) => out.string(network).string(filter).strings(pools))
}

async function readFilter(client: ClickHouseClient, network: NetworkName, filter: string): Promise<readonly PoolId[]> {
  const [row] = await ask<{ pools: PoolId[] }>(
    client,
    'SELECT pools FROM pool_filters WHERE network = {network:String} AND filter = {filter:String} LIMIT 1',
    { network, filter },
  )
  return row?.pools ?? []
}

/** The pools of each of some filters; an empty list: all. */
export async function poolsOfFilters(
  client: ClickHouseClient,
  network: NetworkName,
  filters: Iterable<string>,
): Promise<ReadonlyMap<string, readonly PoolId[]>> {
  const pools = new Map<string, readonly PoolId[]>()
  for (const filter of new Set(filters)) {
    pools.set(filter, isDigest(filter) ? await readFilter(client, network, filter) : poolsIn(filter))
  }
  return pools
}
