/** Volumes of pools in a time range, summed over cached candles. */
import type { TimeRange } from '../../query/time-range.ts'
import type { BucketCache } from '../cache/bucket-cache.ts'
import { NO_VOLUME, type Volume, volumeIn } from '../cache/bucket-rows.ts'
import type { Listing } from '../model/listing.ts'
import { clampTime, halvesOf } from '../model/windows.ts'

/** In the order of `listings`. */
export function readVolumes(
  cache: BucketCache,
  listings: readonly Listing[],
  range: TimeRange,
): Promise<readonly Volume[]> {
  const halves = halvesOf({ from: clampTime(range.from), to: clampTime(range.to) })
  return Promise.all(
    listings.map(async (listing) => {
      const chunks = await Promise.all(halves.map((half) => cache.readAll(listing, half)))
      const volumes = halves.flatMap((half, index) =>
        (chunks[index] ?? []).map(({ resolution, rows }) => volumeIn(rows, half.get(resolution) ?? { from: 0, to: 0 })),
      )
      return volumes.reduce(sumOf, NO_VOLUME)
    }),
  )
}

function sumOf(one: Volume, other: Volume): Volume {
  return { trades: one.trades + other.trades, usdMicros: one.usdMicros + other.usdMicros }
}
