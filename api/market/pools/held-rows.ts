/** Minted liquidity of a pool over a day, weighted by time: cached for each pool and end of the day. */
import type { ClickHouseClient } from '@clickhouse/client'
import { LRUCache } from 'lru-cache'
import { pieces } from '../../../ingest/lib/pieces.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { Network } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { MAX_POOLS_PER_QUERY, queryRows, readSql } from '../../lib/store.ts'
import type { Listing } from '../model/listing.ts'

const HELD = readSql(new URL('./held.sql', import.meta.url))

/** Raw amounts over the day, see held.sql. */
export type HeldOver = { pool: PoolId; held0: number; held1: number; late0: number; late1: number }

/** `end`: of the day; `root`: the square root of the raw price then. */
export type HeldRequest = { listing: Listing; end: UnixSeconds; root: number }

export type HeldRow = { request: HeldRequest; row: HeldOver | undefined }

export type HeldRows = {
  /** In the order of the requests, which all have one end. */
  read(request: readonly HeldRequest[]): Promise<readonly HeldRow[]>
  /** Without pools: all of them. */
  evict(pools?: Iterable<PoolId>): void
}

export function openHeldRows(reader: ClickHouseClient, network: Network, maxRows: number): HeldRows {
  /** For the end of the last request. */
  const cached = new LRUCache<PoolId, HeldRow>({ max: maxRows })
  let evictions = 0

  function heldFor({ listing, end, root }: HeldRequest): HeldRow | undefined {
    const entry = cached.get(listing.pool.id)
    const isSame = entry?.request.listing === listing && entry.request.end === end && entry.request.root === root
    return isSame ? entry : undefined
  }

  async function load(request: readonly HeldRequest[]): Promise<readonly HeldRow[]> {
    const parameters = {
      network: network.name,
      pools: request.map(({ listing }) => listing.pool.id),
      roots: request.map(({ root }) => root),
      end: request[0]?.end,
    }
    const rows = await queryRows<HeldOver>(reader, HELD, parameters)
    const byPool = new Map(rows.map((row) => [row.pool, row]))
    return request.map((one) => ({ request: one, row: byPool.get(one.listing.pool.id) }))
  }

  return {
    async read(request) {
      const found = new Map(request.map((one) => [one, heldFor(one)]))
      const before = evictions
      for (const group of pieces(
        request.filter((one) => !found.get(one)),
        MAX_POOLS_PER_QUERY,
      )) {
        for (const entry of await load(group)) {
          found.set(entry.request, entry)
          // A read that was running during an eviction may be stale.
          if (before === evictions) cached.set(entry.request.listing.pool.id, entry)
        }
      }
      return request.map((one) => found.get(one) ?? { request: one, row: undefined })
    },
    evict(pools) {
      evictions++
      if (pools === undefined) cached.clear()
      else for (const pool of pools) cached.delete(pool)
    },
  }
}
