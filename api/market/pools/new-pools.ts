/** The pools of the last week that the page lists as new: one side is a trusted token, of which they hold a minimum. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { NATIVE_CURRENCY, type Network, type NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import { trustedToken } from '../model/listing.ts'
import { type MarketStore, readNetworkPrices } from './pool-state.ts'

export type NewPoolId = { network: NetworkName; pool: PoolId }

const NEW_POOLS = readSql(new URL('./new-pools.sql', import.meta.url))
const NATIVE_DECIMALS = 18
const NEW_SECONDS = 7 * 86_400
const MAX_NEW_POOLS = 20
/** On average over the last day: to push another pool off the list, this has to stay in each of 20 pools. */
const MIN_HELD_USD = 10_000

/** Newest first. */
export async function findNewPools(
  reader: ClickHouseClient,
  store: MarketStore,
  now: UnixSeconds,
): Promise<readonly NewPoolId[]> {
  const networks = [...store.catalogue.values()].map(({ network }) => network)
  const tokens = (await Promise.all(networks.map((network) => pricedTokens(store, network)))).flat()
  return queryRows<NewPoolId>(reader, NEW_POOLS, {
    networks: networks.map(({ name }) => name),
    tokens: tokens.map(({ key }) => key),
    usd: tokens.map(({ usd }) => usd),
    since: Math.max(0, now - NEW_SECONDS),
    end: now,
    min_usd: MIN_HELD_USD,
    limit: MAX_NEW_POOLS,
  })
}

/** Dollars a raw unit. */
async function pricedTokens(store: MarketStore, network: Network): Promise<readonly { key: string; usd: number }[]> {
  const prices = await readNetworkPrices(store, network, 0xffff_ffff)
  return [...prices].flatMap(([address, price]) => {
    const decimals =
      address === NATIVE_CURRENCY ? NATIVE_DECIMALS : trustedToken(network, address.toLowerCase())?.decimals
    return decimals === undefined ? [] : [{ key: `${network.name}:${address}`, usd: price / 10 ** decimals }]
  })
}
