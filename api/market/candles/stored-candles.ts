/** Buckets that were traded in: folded from cached chunks, or merged by ClickHouse where a range is too wide for the cache. */
import type { ClickHouseClient } from '@clickhouse/client'
import { queryRows, readSql } from '../../lib/store.ts'
import type { PairPrice } from '../../query/query.ts'
import type { TimeRange } from '../../query/time-range.ts'
import type { BucketCache } from '../cache/bucket-cache.ts'
import { type Close, closeIn, foldRows } from '../cache/bucket-rows.ts'
import { type CandleView, type FoldedCandle, type PairView, viewCandle, viewPrice } from '../model/orientation.ts'
import { clampTime, resolutionOf } from '../model/windows.ts'
import type { Trade } from './fill-gaps.ts'

const CANDLES = readSql(new URL('./candles.sql', import.meta.url))

/** The part of the cache that candles are read from. */
export type CandleCache = Pick<BucketCache, 'read' | 'closeBefore'>
export type StoredSource = { reader: ClickHouseClient; cache: CandleCache }

/** `interval` in seconds; `limit` rows are enough. */
export type StoredRequest = { view: PairView; interval: number; limit: number; price: PairPrice; flow: boolean }

export type StoredCandles = {
  /** Ascending; the newest `limit` at least. */
  traded: readonly CandleView[]
  /** The newest trade before the range. */
  closeBefore(): Promise<Trade | undefined>
}

export async function readStoredCandles(
  { reader, cache }: StoredSource,
  request: StoredRequest,
  range: TimeRange,
): Promise<StoredCandles> {
  const { view, interval, price, flow } = request
  const window = { from: clampTime(range.from), to: clampTime(range.to) }
  const tradeOf = (close: Close | undefined): Trade | undefined =>
    close && { ...close, close: viewPrice(view.forward, price === 'spot' ? close.spot_close : close.close) }
  const chunks = await cache.read(view.listing, resolutionOf(interval), window)
  if (!chunks) {
    return {
      traded: await mergeInStore(reader, request, window),
      closeBefore: async () => tradeOf(await cache.closeBefore(view.listing, window.from, price)),
    }
  }
  const rows = chunks.map((chunk) => chunk.rows)
  const folded = foldRows(rows, { interval, range: window, kind: price, token: view.forward ? 1 : 0, flow })
  return {
    traded: folded.map((candle) => viewCandle(view, candle, price)),
    async closeBefore() {
      const [first] = chunks
      if (!first) return undefined
      const close = closeIn(first.rows, first.resolution, window.from, price)
      return tradeOf(close ?? (await cache.closeBefore(view.listing, first.range.from, price)))
    },
  }
}

/** Open, high, low and close. */
type OpenToClose = readonly [number, number, number, number]
type MergedRow = { bucket: number; execution: OpenToClose; spot: OpenToClose } & Record<
  'volume0' | 'volume1' | 'volume_usd' | 'trades' | 'buys' | 'buy_volume0' | 'buy_volume1' | 'unexecuted',
  string
>

async function mergeInStore(
  reader: ClickHouseClient,
  request: StoredRequest,
  range: TimeRange,
): Promise<readonly CandleView[]> {
  const { view, interval, limit, price } = request
  const { network, pool } = view.listing
  const resolution = resolutionOf(interval)
  const parameters = { network: network.name, pool: pool.id, interval, resolution, ...range, limit, price }
  const rows = await queryRows<MergedRow>(reader, CANDLES, parameters)
  return rows.map((row) => viewCandle(view, fromRow(row, request), price)).reverse()
}

function fromRow(row: MergedRow, { view, price, flow }: StoredRequest): FoldedCandle {
  const [open, high, low, close] = price === 'spot' ? row.spot : row.execution
  const of = (name0: keyof MergedRow, name1: keyof MergedRow) => BigInt(row[view.forward ? name1 : name0] as string)
  return {
    bucket: row.bucket,
    ...{ open, high, low, close },
    volume: of('volume0', 'volume1'),
    trades: Number(row.trades),
    flow: flow
      ? {
          baseVolume: of('volume1', 'volume0'),
          usdMicros: BigInt(row.volume_usd),
          buyVolume: of('buy_volume0', 'buy_volume1'),
          buys: Number(row.buys),
          unexecuted: Number(row.unexecuted),
        }
      : undefined,
  }
}
