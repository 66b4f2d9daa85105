/** Minted liquidity of pools over a day, weighted by time. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import type { Listing } from '../model/listing.ts'

const HELD = readSql(new URL('./held.sql', import.meta.url))

/** Raw amounts over the day, see held.sql. */
export type HeldOver = { pool: PoolId; held0: number; held1: number; late0: number; late1: number }

/** `end`: of the day; `root`: the square root of the raw price then. */
export type HeldRequest = { listing: Listing; end: UnixSeconds; root: number }

export function isSameRequest(one: HeldRequest, other: HeldRequest): boolean {
  return one.listing === other.listing && one.end === other.end && one.root === other.root
}

/** In the order of the requests; undefined where no mints or burns are stored. */
export async function readHeldOver(
  reader: ClickHouseClient,
  network: NetworkName,
  requests: readonly HeldRequest[],
): Promise<readonly (HeldOver | undefined)[]> {
  const found = new Map<HeldRequest, HeldOver | undefined>()
  // A statement takes a pool once, and queries of one time may ask for two of its days.
  for (let rest = requests; rest.length > 0; rest = rest.filter((request) => !found.has(request))) {
    const byPool = new Map(rest.map((request) => [request.listing.pool.id, request]))
    const asked = [...byPool.values()]
    const parameters = {
      network,
      pools: [...byPool.keys()],
      roots: asked.map(({ root }) => root),
      ends: asked.map(({ end }) => end),
    }
    const rows = new Map((await queryRows<HeldOver>(reader, HELD, parameters)).map((row) => [row.pool, row]))
    for (const [pool, request] of byPool) found.set(request, rows.get(pool))
  }
  return requests.map((request) => found.get(request))
}
