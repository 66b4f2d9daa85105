/** Pools, looked up by id, by pair, by token and by symbol as queries name them, and kept until they are written again: no process holds all pools. */
import type { ClickHouseClient } from '@clickhouse/client'
import { openSince } from '../../../aggregator/store/since.ts'
import type { Network, NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { cachedValue } from '../../lib/cached-value.ts'
import { groupBy } from '../../lib/group.ts'
import { MAX_POOLS_PER_QUERY, queryRows, readSql } from '../../lib/store.ts'
import type { Listing } from '../model/listing.ts'
import { type NetworkPools, openNetworkPools, type WrittenName, type WrittenPool } from './network-pools.ts'

const POOLS_SINCE = readSql(new URL('./pools-since.sql', import.meta.url))
const NAMES_SINCE = readSql(new URL('./names-since.sql', import.meta.url))
const TRADED_LATELY = readSql(new URL('./traded-lately.sql', import.meta.url))
const NOW = 'SELECT toFloat64(toUnixTimestamp64Milli(now64(3))) AS now'

export type PoolLookups = {
  /** The networks that are served, in their order. */
  networks: readonly Network[]
  /** Undefined for a network that is not served. */
  on(network: NetworkName): NetworkPools | undefined
  /** Lookups from now on return rows that are at most `freshMs` old. */
  refresh(): Promise<void>
  /** Looks up the pools that traded last, up to a thousand a network: a lookup costs as much for one pool as for many. */
  warm(): Promise<void>
  /** Evicts all cached values of the network's pools. */
  evict(network: NetworkName): void
}

/** `freshMs`: with 0, each query asks for new rows. */
export function openPools(client: ClickHouseClient, networks: readonly Network[], freshMs: number): PoolLookups {
  const byName = new Map(networks.map((network) => [network.name, openNetworkPools(client, network)]))
  const now = async () => (await queryRows<{ now: number }>(client, NOW))[0]?.now ?? 0
  const newPools = openSince({ now, read: (places) => queryRows<WrittenPool>(client, POOLS_SINCE, places) })
  const newNames = openSince({ now, read: (places) => queryRows<WrittenName>(client, NAMES_SINCE, places) })

  function evictAll(): void {
    for (const pools of byName.values()) pools.evictAll()
  }

  // Rows are returned once: a failure of one read must not drop the rows of the other.
  async function evictPools(): Promise<void> {
    const rows = await newPools.next()
    if (rows === undefined) return evictAll()
    for (const row of rows) byName.get(row.network)?.evictPool(row)
  }

  async function evictNames(): Promise<void> {
    const rows = await newNames.next()
    if (rows === undefined) return evictAll()
    for (const [network, ofNetwork] of groupBy(rows, (row) => row.network)) byName.get(network)?.evictNames(ofNetwork)
  }

  const state = cachedValue(() => Promise.all([evictPools(), evictNames()]).then(() => undefined), freshMs)

  return {
    networks,
    on: (network) => byName.get(network),
    refresh: state.get,
    async warm() {
      for (const { network, listing } of byName.values()) {
        const places = { network: network.name, limit: MAX_POOLS_PER_QUERY }
        const traded = await queryRows<{ pool: PoolId }>(client, TRADED_LATELY, places)
        await Promise.all(traded.map(({ pool }) => listing(pool)))
      }
    },
    evict: (network) => byName.get(network)?.evictAll(),
  }
}

/** The pool on each of the networks that has it, in the order of these. */
export async function poolOn(
  pools: PoolLookups,
  id: PoolId,
  networks: readonly NetworkName[],
): Promise<readonly Listing[]> {
  const found = await Promise.all(networks.map((network) => pools.on(network)?.listing(id)))
  return found.filter((listing) => listing !== undefined)
}
