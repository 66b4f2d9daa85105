/** Rows of pools from the store. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import type { PoolRow } from './network-pools.ts'

const CATALOGUE = readSql(new URL('./catalogue.sql', import.meta.url))

/** After every hex digit. */
export const AFTER_DIGITS = 'g'

/** From `first` to before `end`. */
export type PoolRange = { network: NetworkName; first: string; end: string }

export function rowsOfRange(client: ClickHouseClient, range: PoolRange): Promise<readonly PoolRow[]> {
  return queryRows(client, CATALOGUE, { ...range, pools: [] })
}

/** `ids`: in their order, at most MAX_POOLS_PER_QUERY. */
export function rowsOfPools(
  client: ClickHouseClient,
  network: NetworkName,
  ids: readonly PoolId[],
): Promise<readonly PoolRow[]> {
  const range = { network, first: ids[0] ?? '', end: (ids.at(-1) ?? '') + AFTER_DIGITS }
  return queryRows(client, CATALOGUE, { ...range, pools: ids })
}
