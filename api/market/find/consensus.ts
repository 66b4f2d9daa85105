/** Measures how far a pool's prices are from its pair's prices: anyone can move the price of a single pool. */

import type { TimeRange } from '../../query/time-range.ts'
import type { BucketCache } from '../cache/bucket-cache.ts'
import { type PriceRow, priceRows } from '../cache/bucket-rows.ts'
import type { PairView } from '../model/orientation.ts'
import { clampTime, halvesOf } from '../model/windows.ts'

/** Ascending rows of a range, and the last price before it. */
export type Quotes = { rows: readonly PriceRow[]; before: number | undefined }

export type Peer = { quotes: Quotes; weight: number }

/** In the order of `views`; from the same chunks as the volumes of the range. */
export function readQuotes(
  cache: BucketCache,
  views: readonly PairView[],
  asked: TimeRange,
): Promise<readonly Quotes[]> {
  const range = { from: clampTime(asked.from), to: clampTime(asked.to) }
  const halves = halvesOf(range)
  return Promise.all(
    views.map(async ({ listing, forward }) => {
      const [chunks, close] = await Promise.all([
        Promise.all(halves.map((half) => cache.readAll(listing, half))),
        cache.closeBefore(listing, range.from),
      ])
      const rows = halves.flatMap((half, index) =>
        (chunks[index] ?? []).flatMap(({ resolution, rows: stored }) =>
          priceRows(stored, half.get(resolution) ?? { from: 0, to: 0 }, resolution, forward),
        ),
      )
      const before = close && (forward ? close.spot_close : 1 / close.spot_close)
      return { rows: rows.sort((one, other) => one.start - other.start), before }
    }),
  )
}

/**
 * The largest factor, less 1, by which a price of `quotes` lies outside of the peers' band in the same bucket. The band reaches from the
 * weighted median of the peers' lows to that of their highs; each low and high includes the peer's close before. A pool that did not trade is
 * compared by its last price.
 */
export function deviationOf(quotes: Quotes, peers: readonly Peer[]): number {
  const walks = peers.map(({ quotes: { rows, before }, weight }) => ({ rows, weight, next: 0, carried: before }))
  const last = quotes.rows.at(-1)
  const own: readonly PriceRow[] = last || quotes.before === undefined ? quotes.rows : [silent(quotes.before)]
  let worst = 0
  for (const row of own) {
    const bands = walks.flatMap((walk) => {
      const band = advance(walk, row)
      return band ? [{ ...band, weight: walk.weight }] : []
    })
    const low = weightedMedian(bands.map((band) => ({ value: band.low, weight: band.weight })))
    const high = weightedMedian(bands.map((band) => ({ value: band.high, weight: band.weight })))
    if (low === undefined || high === undefined) continue
    worst = Math.max(worst, row.high / high - 1, low / row.low - 1)
  }
  return worst
}

type Walk = { rows: readonly PriceRow[]; next: number; carried: number | undefined }

/** The price range of a peer within a bucket, its close before included; undefined where it has not traded by then. */
function advance(walk: Walk, bucket: PriceRow): { low: number; high: number } | undefined {
  const end = bucket.start + bucket.seconds
  for (; ; walk.next++) {
    const row = walk.rows[walk.next]
    if (!row || row.start + row.seconds > bucket.start) break
    walk.carried = row.close
  }
  let [low, high] = [walk.carried ?? Number.POSITIVE_INFINITY, walk.carried ?? 0]
  for (let at = walk.next; ; at++) {
    const row = walk.rows[at]
    if (!row || row.start >= end) break
    ;[low, high] = [Math.min(low, row.low), Math.max(high, row.high)]
  }
  return high > 0 ? { low, high } : undefined
}

/** A row after all trades of the peers. */
function silent(price: number): PriceRow {
  return { start: Number.MAX_SAFE_INTEGER, seconds: 0, low: price, high: price, close: price }
}

/** The value at which half of all weight is reached. */
export function weightedMedian(values: readonly { value: number; weight: number }[]): number | undefined {
  const total = values.reduce((sum, { weight }) => sum + weight, 0)
  // Without any held value the weights are equal.
  const weightOf = ({ weight }: { weight: number }) => (total > 0 ? weight : 1)
  const half = (total > 0 ? total : values.length) / 2
  let reached = 0
  for (const one of [...values].sort((a, b) => a.value - b.value)) {
    reached += weightOf(one)
    if (reached >= half) return one.value
  }
}
