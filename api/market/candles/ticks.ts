/** Single swaps of one pool. */
import type { ClickHouseClient } from '@clickhouse/client'
import { queryRows, readSql } from '../../lib/store.ts'
import type { PriceKind } from '../../query/query.ts'
import type { TimeRange } from '../../query/time-range.ts'
import { type PairView, type StoredTick, type TickView, viewTick } from '../model/orientation.ts'
import { LEAST_PRICED } from '../model/usd-price.ts'
import { clampTime } from '../model/windows.ts'
import { swapsSince } from './active-periods.ts'

const TICKS = readSql(new URL('./ticks.sql', import.meta.url))
const ANY_PRICED = { least_units: 0, least_usd: '0' } as const satisfies Record<keyof typeof LEAST_PRICED, unknown>

/** Where more of the newest swaps have no dollar price, older ones are read. */
const MAX_UNPRICED = 1_000

export type TickRequest = { view: PairView; range: TimeRange; limit: number; price: PriceKind }

/** The newest `limit` that end before `to`, ascending by block and log index. */
export async function readTicks(reader: ClickHouseClient, request: TickRequest): Promise<readonly TickView[]> {
  const { view, limit, price } = request
  const range = { from: clampTime(request.range.from), to: clampTime(request.range.to) }
  if (range.from >= range.to) return []
  const since = await swapsSince(reader, view.listing, range, price === 'usd' ? limit + MAX_UNPRICED : limit)
  let rows = await readStored(reader, request, { from: since, to: range.to })
  // During a rollback candles may count swaps that are deleted already, and more may have no dollar price: then the whole range is read.
  if (rows.length < limit && since > range.from) rows = await readStored(reader, request, range)
  return rows.map((row) => viewTick(view, price, row)).reverse()
}

function readStored(reader: ClickHouseClient, request: TickRequest, range: TimeRange): Promise<readonly StoredTick[]> {
  const { network, pool } = request.view.listing
  const ulps = request.price === 'spot' ? 'spot_price_ulps' : 'price_ulps'
  return queryRows<StoredTick>(reader, TICKS, {
    network: network.name,
    pool: pool.id,
    ulps,
    ...range,
    limit: request.limit,
    ...(request.price === 'usd' ? LEAST_PRICED : ANY_PRICED),
  })
}
