/** Candles as trading bots know them from ccxt: `[ms, open, high, low, close, volume]`, oldest first. */
import type { Client } from 'openapi-fetch'
import type { paths } from '../../api/extras/clients/typescript/src/schema.ts'
import { parseInterval } from '../../api/query/interval.ts'

export type Ohlcv = readonly [number, number, number, number, number, number]

const MOST = 100

/** As ccxt's `fetchOHLCV`: from `since` (ms) on at most `limit` of them; the newest ones where `since` is left out. */
export async function fetchOhlcv(
  client: Client<paths>,
  market: { pool: string } | { symbol: string },
  timeframe: string,
  since?: number,
  limit = MOST,
): Promise<Ohlcv[]> {
  const milliseconds = (parseInterval(timeframe) ?? Number.NaN) * 1_000
  const range = since === undefined ? {} : { from: iso(since), to: iso(since + limit * milliseconds) }
  const query = { ...market, interval: timeframe, limit, ...range }
  const { data, error } = await client.GET('/v0/candles', { params: { query } })
  if (data === undefined) throw new Error(error?.message ?? 'The service did not answer.')
  return data.data.map(({ time, open, high, low, close, volume }) => [Date.parse(time), open, high, low, close, volume])
}

/** A bot's way back through time: pages that end where the one before began, down to `from`. Each bucket once, oldest first. */
export async function pageBack(
  client: Client<paths>,
  market: { pool: string } | { symbol: string },
  timeframe: string,
  { from, to }: { from: number; to: number },
): Promise<Ohlcv[]> {
  const rows: Ohlcv[] = []
  for (let end = to; end > from; ) {
    const query = { ...market, interval: timeframe, limit: MOST, to: iso(end) }
    const { data } = await client.GET('/v0/candles', { params: { query } })
    const page = (data?.data ?? []).map(
      ({ time, open, high, low, close, volume }): Ohlcv => [Date.parse(time), open, high, low, close, volume],
    )
    const [oldest] = page
    if (oldest === undefined) break
    rows.unshift(...page.filter(([time]) => time >= from))
    end = oldest[0]
  }
  return rows
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
