/** Candles in dollars. The tables have none: each is folded from its swaps, so that a request is bounded by their number. */
import type { ClickHouseClient } from '@clickhouse/client'
import { coalesced } from '../../lib/coalesced.ts'
import { limitConcurrency } from '../../lib/concurrency-limit.ts'
import { decimalNumber } from '../../lib/decimal.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import { invalidParameters } from '../../query/parameters.ts'
import type { TimeRange } from '../../query/time-range.ts'
import { newestStored, type PoolCoverage } from '../cache/coverage.ts'
import { listingKey } from '../model/listing.ts'
import { averagePrice, type CandleView, type PairView, viewFlow } from '../model/orientation.ts'
import { fromRatio, LEAST_PRICED, USD_DECIMALS } from '../model/usd-price.ts'
import { clampTime } from '../model/windows.ts'
import { swapsIn } from './active-periods.ts'
import type { StoredCandles } from './stored-candles.ts'
import { readTicks } from './ticks.ts'

const USD_CANDLES = readSql(new URL('./usd-candles.sql', import.meta.url))

export type UsdRequest = {
  view: PairView
  interval: number
  limit: number
  flow: boolean
  coverage: Pick<PoolCoverage, 'tip' | 'backfilled'>
}

export type UsdCandles = (request: UsdRequest, range: TimeRange) => Promise<StoredCandles>

/** A statement over as many took 1.6 s on two cores. */
export const MAX_USD_SWAPS = 5_000_000
/** Two statements run at once in a process. */
const BOUNDS = { maxRunning: 2, maxQueued: 64, maxWaitMs: 5_000 }

/** A bucket in the pool's own order. Its ratios are open, high, low and close: millionths of a dollar a raw unit of the view's first token. */
type UsdRow = {
  bucket: number
  ratios: readonly [number, number, number, number]
  trades: number
  buys: number
} & Record<'volume0' | 'volume1' | 'usd_micros' | 'buy_volume0' | 'buy_volume1', string>

/** Equal requests within `freshMs` are answered by one statement while the tip is the same. */
export function openUsdCandles(reader: ClickHouseClient, freshMs: number): UsdCandles {
  const shared = coalesced<readonly UsdRow[]>(freshMs)
  const limited = limitConcurrency(BOUNDS)

  async function fold({ view, interval, limit }: UsdRequest, range: TimeRange): Promise<readonly UsdRow[]> {
    const { network, pool } = view.listing
    const parameters = {
      ...{ network: network.name, pool: pool.id, interval, ...range, limit },
      ...{ forward: view.forward, ...LEAST_PRICED },
    }
    return limited(async () => {
      requireFew(await swapsIn(reader, view.listing, range))
      return queryRows<UsdRow>(reader, USD_CANDLES, parameters)
    })
  }

  return async function readUsd(request, { from, to }) {
    const { view, interval, limit, flow, coverage } = request
    const range = { from: clampTime(from), to: clampTime(to) }
    const { network, pool } = view.listing
    const place = `${listingKey(network.name, pool.id)} ${view.forward}`
    const key = `${place} ${interval} ${range.from} ${range.to} ${limit} ${newestStored(coverage)}`
    const rows = await shared(key, () => fold(request, range))
    return {
      traded: rows.map((row) => viewUsd(view, row, flow)).reverse(),
      async closeBefore() {
        const before = { from: 0, to: range.from }
        const [tick] = await limited(() => readTicks(reader, { view, range: before, limit: 1, price: 'usd' }))
        return tick && { from: tick.time, to: tick.time + 1, close: tick.price }
      },
    }
  }
}

/** Prices are not inverted: each token has its own. Volume and the average price are in dollars. */
function viewUsd({ listing: { pool }, forward }: PairView, row: UsdRow, withFlow: boolean): CandleView {
  const [base, quote] = forward ? [pool.token0, pool.token1] : [pool.token1, pool.token0]
  const priceOf = (ratio: number) => fromRatio(ratio, base.decimals)
  const [open, high, low, close] = row.ratios
  const { bucket: time, trades } = row
  const usdMicros = BigInt(row.usd_micros)
  const candle = {
    ...{ time, open: priceOf(open), high: priceOf(high), low: priceOf(low), close: priceOf(close) },
    ...{ volume: decimalNumber(usdMicros, USD_DECIMALS), trades },
  }
  if (!withFlow) return candle
  const of = (name0: keyof UsdRow, name1: keyof UsdRow) => BigInt(row[forward ? name1 : name0] as string)
  const baseVolume = of('volume1', 'volume0')
  // A swap with a dollar price is executed.
  const counts = { buys: row.buys, unexecuted: 0 }
  const sums = { baseVolume, usdMicros, buyVolume: of('buy_volume0', 'buy_volume1'), ...counts }
  const units = { base: base.decimals, quote: quote.decimals }
  const flow = viewFlow({ volume: of('volume0', 'volume1'), trades }, sums, { forward, kind: 'execution', ...units })
  return { ...candle, flow: { ...flow, vwap: averagePrice(usdMicros, USD_DECIMALS, baseVolume, base.decimals) } }
}

function requireFew(swaps: number): void {
  if (swaps <= MAX_USD_SWAPS) return
  const message = `must be less, or the candles shorter: with price=usd a request reads at most ${MAX_USD_SWAPS.toLocaleString('en')} swaps, and this one would read ${swaps.toLocaleString('en')}`
  throw invalidParameters([{ field: 'limit', message }])
}
