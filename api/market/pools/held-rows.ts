/** What minted liquidity came to over a day, weighted by time: read once for each pool and end. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { Network } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { chunksOf } from '../../lib/group.ts'
import { MAX_POOLS_PER_QUERY, queryRows, readSql } from '../../lib/store.ts'
import type { Listing } from '../model/listing.ts'

const HELD = readSql(new URL('./held.sql', import.meta.url))

/** Raw amounts of the day that ended at some second, see held.sql. */
export type HeldOver = { pool: PoolId; held0: number; held1: number; late0: number; late1: number }

/** A listing at the end of a day, and the square root of its raw price then. */
export type HeldRequest = { listing: Listing; end: UnixSeconds; root: number }

export type HeldRow = { asked: HeldRequest; row: HeldOver | undefined }

export type HeldRows = {
  /** In the order of `asked`, which all have one end. */
  read(asked: readonly HeldRequest[]): Promise<readonly HeldRow[]>
  /** Something of some pools was written; where it is not said of which, of any. */
  evict(pools?: Iterable<PoolId>): void
}

export function openHeldRows(reader: ClickHouseClient, network: Network, maxRows: number): HeldRows {
  /** Of the end that was asked for last; the oldest first. */
  const held = new Map<PoolId, HeldRow>()
  let forgotten = 0

  function heldFor({ listing, end, root }: HeldRequest): HeldRow | undefined {
    const entry = held.get(listing.pool.id)
    const isSame = entry?.asked.listing === listing && entry.asked.end === end && entry.asked.root === root
    return isSame ? entry : undefined
  }

  function keep(entry: HeldRow): void {
    const { id } = entry.asked.listing.pool
    held.delete(id)
    held.set(id, entry)
    const [oldest] = held.keys()
    if (held.size > maxRows && oldest !== undefined) held.delete(oldest)
  }

  async function load(asked: readonly HeldRequest[]): Promise<readonly HeldRow[]> {
    const parameters = {
      network: network.name,
      pools: asked.map(({ listing }) => listing.pool.id),
      roots: asked.map(({ root }) => root),
      end: asked[0]?.end,
    }
    const rows = await queryRows<HeldOver>(reader, HELD, parameters)
    const byPool = new Map(rows.map((row) => [row.pool, row]))
    return asked.map((one) => ({ asked: one, row: byPool.get(one.listing.pool.id) }))
  }

  return {
    async read(asked) {
      const found = new Map(asked.map((one) => [one, heldFor(one)]))
      const before = forgotten
      for (const group of chunksOf(
        asked.filter((one) => !found.get(one)),
        MAX_POOLS_PER_QUERY,
      )) {
        for (const entry of await load(group)) {
          found.set(entry.asked, entry)
          // What was on its way when it was to be forgotten may be old.
          if (before === forgotten) keep(entry)
        }
      }
      return asked.map((one) => found.get(one) ?? { asked: one, row: undefined })
    },
    evict(pools) {
      forgotten++
      if (pools === undefined) held.clear()
      else for (const pool of pools) held.delete(pool)
    },
  }
}
