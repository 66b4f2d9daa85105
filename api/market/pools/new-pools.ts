/** The pools of the last week that are listed as new: one token is trusted, and the pool holds a minimum of it. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Address } from 'viem'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { NATIVE_CURRENCY, type Network, type NetworkName, trustedToken } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import { type PoolStore, readNetworkPrices } from './pool-state.ts'

export type NewPoolId = { network: NetworkName; pool: PoolId }

const NEW_POOLS = readSql(new URL('./new-pools.sql', import.meta.url))
const NATIVE_DECIMALS = 18
const NEW_SECONDS = 7 * 86_400
/** On each network, so that none pushes the pools of another one off the list. */
const MAX_NEW_POOLS = 100
/** On average over the last day: to push another pool off the list, this has to stay in each of 100 pools. */
const MIN_HELD_USD = 10_000

/** The newest of each network. */
export async function findNewPools(
  reader: ClickHouseClient,
  store: PoolStore,
  now: UnixSeconds,
): Promise<readonly NewPoolId[]> {
  const { networks } = store.pools
  const priced = async (network: Network) =>
    (await pricedTokens(store, network)).map(({ token, usd }) => ({ key: `${network.name}:${token}`, usd }))
  const tokens = (await Promise.all(networks.map(priced))).flat()
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

/** Dollars a raw unit, of the tokens that have a price. */
export async function pricedTokens(
  store: Omit<PoolStore, 'rows'>,
  network: Network,
): Promise<readonly { token: Address; usd: number }[]> {
  const prices = await readNetworkPrices(store, network, 0xffff_ffff)
  return [...prices].flatMap(([token, price]) => {
    const decimals = token === NATIVE_CURRENCY ? NATIVE_DECIMALS : trustedToken(network, token)?.decimals
    return decimals === undefined ? [] : [{ token, usd: price / 10 ** decimals }]
  })
}
