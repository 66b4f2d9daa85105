/** Reads the candles of a feed: the same query as for one answer, whose window moves with the clock. */
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { MarketAnswer } from '../market/answer.ts'
import { candleRow } from '../market/answer-rows.ts'
import { gridOf } from '../market/candles/candles.ts'
import type { Market } from '../market/market.ts'
import type { CandleView } from '../market/model/orientation.ts'
import { bucketOf } from '../query/interval.ts'
import { type CandleQuery, candleRange } from '../query/query.ts'
import { type Instant, instantOf } from '../query/time.ts'
import type { RowReader } from './row-reader.ts'
import { type FeedRow, feedRow } from './rows.ts'

export function candleReader(market: Market, query: CandleQuery, clock: () => Date): RowReader {
  const bucketAt = (now: Instant) => bucketOf(now.seconds, query.interval)
  let readAt: UnixSeconds | undefined
  return {
    kind: 'candle',
    isDue: () => query.fill === 'previous' && readAt !== bucketAt(instantOf(clock())),
    async read() {
      const now = instantOf(clock())
      const answer = await market.candles(query)
      readAt = bucketAt(now)
      return { rows: answer.rows.map(rowOf), from: watchedFrom(query, now, answer), isCut: false }
    },
    shown: (rows) => rows,
  }
}

function rowOf(candle: CandleView): FeedRow {
  const row = candleRow(candle)
  return feedRow(row.time, candle.time, row)
}

/** The start of the window; where the answer has as many rows as it may, its first one. */
function watchedFrom(query: CandleQuery, now: Instant, { rows }: MarketAnswer<CandleView>): UnixSeconds {
  const { from } = gridOf(candleRange(query, now), query.interval)
  return Math.max(from, rows.length < query.limit ? from : (rows[0]?.time ?? from))
}
