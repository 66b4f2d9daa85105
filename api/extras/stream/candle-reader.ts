/** Reads the candles of a feed, with the query of a single answer. The window moves with the clock. */
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { MarketAnswer } from '../../market/answer.ts'
import { candleRow } from '../../market/answer-rows.ts'
import type { NetworkStates } from '../../market/cache/change-poller.ts'
import { poolCoverage } from '../../market/cache/coverage.ts'
import { gridOf } from '../../market/candles/candles.ts'
import { lastFillable } from '../../market/candles/fill-gaps.ts'
import type { Market } from '../../market/market.ts'
import type { Listing } from '../../market/model/listing.ts'
import type { CandleView } from '../../market/model/orientation.ts'
import { bucketOf } from '../../query/interval.ts'
import { type CandleQuery, candleRange } from '../../query/query.ts'
import { type Instant, instantOf, wholeSecond } from '../../query/time.ts'
import type { RowReader } from './row-reader.ts'
import { type FeedRow, feedRow } from './rows.ts'

export function candleReader(market: Market, listing: Listing, query: CandleQuery, clock: () => Date): RowReader {
  const { interval, fill } = query
  let readBy: string | undefined
  /** The last reading ended here, at or before the time of its tip: block times may be ahead of the clock. */
  let cutAt: UnixSeconds | undefined

  const end = (now: Instant) => gridOf(candleRange(query, now), interval).to

  /** The clock, the tip and the coverage decide which buckets without trades have a row. */
  function filledBy(states: NetworkStates, now: UnixSeconds): string {
    const coverage = poolCoverage(states, listing)
    return JSON.stringify([bucketOf(now, interval), lastFillable(coverage, now, interval), coverage.gaps])
  }

  return {
    kind: 'candle',
    isDue(states) {
      const now = instantOf(clock())
      if (cutAt !== undefined && cutAt < end(now)) return true
      return fill === 'previous' && readBy !== filledBy(states, wholeSecond(now))
    },
    async read() {
      const now = instantOf(clock())
      // Read before the rows: rows that are newer than the states are read once more.
      const states = await market.states()
      const by = filledBy(states, wholeSecond(now))
      const tip = states.get(listing.network.name)?.tip
      const answer = await market.candles(query)
      readBy = by
      cutAt = tip && tip.timestamp >= end(now) ? end(now) : undefined
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
