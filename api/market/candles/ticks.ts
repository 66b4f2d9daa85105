/** Swaps of one pool, one by one. */
import type { ClickHouseClient } from '@clickhouse/client'
import { queryRows, readSql } from '../../lib/store.ts'
import type { PriceKind } from '../../query/query.ts'
import type { TimeRange } from '../../query/time-range.ts'
import { type PairView, type StoredTick, type TickView, viewTick } from '../model/orientation.ts'
import { clampTime } from '../model/windows.ts'
import { swapsSince } from './active-periods.ts'

const TICKS = readSql(new URL('./ticks.sql', import.meta.url))

export type TickRequest = { view: PairView; range: TimeRange; limit: number; price: PriceKind }

/** The newest `limit` that end before `to`, ascending by block and log index. */
export async function readTicks(reader: ClickHouseClient, asked: TickRequest): Promise<readonly TickView[]> {
  const { view, limit, price } = asked
  const range = { from: clampTime(asked.range.from), to: clampTime(asked.range.to) }
  if (range.from >= range.to) return []
  const since = await swapsSince(reader, view.listing, range, limit)
  let rows = await readStored(reader, asked, { from: since, to: range.to })
  // While a rollback is under way candles may promise swaps that are gone already: then all of the range is read.
  if (rows.length < limit && since > range.from) rows = await readStored(reader, asked, range)
  return rows.map((row) => viewTick(view, price, row)).reverse()
}

function readStored(reader: ClickHouseClient, asked: TickRequest, range: TimeRange): Promise<readonly StoredTick[]> {
  const { network, pool } = asked.view.listing
  const ulps = asked.price === 'spot' ? 'spot_price_ulps' : 'price_ulps'
  return queryRows<StoredTick>(reader, TICKS, {
    network: network.name,
    pool: pool.id,
    ulps,
    ...range,
    limit: asked.limit,
  })
}
