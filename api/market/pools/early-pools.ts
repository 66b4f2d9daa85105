/** Pools that are read apart, before a start has read all of them: one that is named, and those of listed tokens. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Address } from 'viem'
import { lower } from '../../../ingest/lib/lower.ts'
import { pieces } from '../../../ingest/lib/pieces.ts'
import type { Network } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { MAX_POOLS_PER_QUERY, queryRows, readSql } from '../../lib/store.ts'
import { listedTokens } from '../model/listing.ts'
import { rowsOfPools } from './catalogue-rows.ts'
import { type Catalogue, NetworkPools } from './network-pools.ts'
import { putNamesOf } from './token-names.ts'

const LISTED = readSql(new URL('./catalogue-listed.sql', import.meta.url))

/** For each network: a read of more takes as long as one of all pools. */
const MAX_LISTED = 20_000

/** The pool on all networks, and the pools that prices in dollars come from. */
export function readPool(client: ClickHouseClient, networks: readonly Network[], id: PoolId): Promise<Catalogue> {
  return readPools(
    client,
    networks.map((network) => ({ network, ids: [id] })),
  )
}

/** All pools of two listed tokens, and those that prices in dollars come from. Undefined where there are too many. */
export async function readListed(
  client: ClickHouseClient,
  networks: readonly Network[],
  maxListed = MAX_LISTED,
): Promise<Catalogue | undefined> {
  const read = networks.map(async (network) => {
    const places = { network: network.name, tokens: listedTokens(network), rows: maxListed + 1 }
    const rows = await queryRows<{ pool: PoolId }>(client, LISTED, places)
    return { network, ids: rows.map(({ pool }) => pool) }
  })
  const listed = await Promise.all(read)
  return listed.some(({ ids }) => ids.length > maxListed) ? undefined : readPools(client, listed)
}

async function readPools(
  client: ClickHouseClient,
  wanted: readonly { network: Network; ids: readonly PoolId[] }[],
): Promise<Catalogue> {
  const read = wanted.map(async ({ network, ids }) => {
    const references = network.referencePools.map(({ pool }) => lower(pool))
    const pools = new NetworkPools(network)
    const tokens = new Set<Address>()
    for (const piece of pieces([...new Set([...ids, ...references])].toSorted(), MAX_POOLS_PER_QUERY))
      for (const row of await rowsOfPools(client, network.name, piece)) {
        pools.put(row)
        for (const token of [row.token0_address, row.token1_address]) tokens.add(token as Address)
      }
    await putNamesOf(client, pools, [...tokens])
    return [network.name, pools] as const
  })
  return new Map(await Promise.all(read))
}
