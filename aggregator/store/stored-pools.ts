/** The pools of a network as the tables know them. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Address } from 'viem'
import type { NetworkName } from '../../ingest/model/network.ts'
import { hooksField, type Pool, type PoolId, type ProtocolVersion } from '../../ingest/model/pool.ts'
import type { StoredPools } from '../../ingest/model/stored-pools.ts'
import { type VenueName, venueField } from '../../ingest/model/venue.ts'
import { ask, loadSql } from './store.ts'

const storedPoolsSql = loadSql(import.meta.url, './stored_pools.sql')

/** So many ids fit the address of a request. */
const POOLS_PER_QUERY = 100

/** Columns of `pools`. */
export type PoolColumns = {
  id: PoolId
  protocol: ProtocolVersion
  venue: VenueName
  hooks: Address | ''
  fee: number
  token0_address: Address
  token0_symbol: string
  token0_name: string
  token0_decimals: number
  token1_address: Address
  token1_symbol: string
  token1_name: string
  token1_decimals: number
}

export function storedPools(client: ClickHouseClient, network: NetworkName): StoredPools {
  return async (ids) => {
    const found: Pool[] = []
    for (let start = 0; start < ids.length; start += POOLS_PER_QUERY) {
      const pools = ids.slice(start, start + POOLS_PER_QUERY)
      found.push(...(await ask<PoolColumns>(client, storedPoolsSql, { network, pools })).map(poolOf))
    }
    return found
  }
}

/** Without the price that it began with. */
export function poolOf(row: PoolColumns): Pool {
  return {
    id: row.id,
    protocol: row.protocol,
    ...venueField(row.venue),
    ...hooksField(row.hooks),
    token0: {
      address: row.token0_address,
      symbol: row.token0_symbol,
      name: row.token0_name,
      decimals: row.token0_decimals,
    },
    token1: {
      address: row.token1_address,
      symbol: row.token1_symbol,
      name: row.token1_name,
      decimals: row.token1_decimals,
    },
    fee: row.fee,
    initialSqrtPriceX96: 0n,
  }
}
