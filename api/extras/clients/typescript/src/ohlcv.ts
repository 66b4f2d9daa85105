/** Bars as exchanges answer them: the first ones from a time on, however long nothing was traded after it. */
import type { components } from './schema.ts'

/** Milliseconds, open, high, low, close, volume: as ccxt's `fetchOHLCV`. */
export type Ohlcv = [number, number, number, number, number, number]

type Bar = components['schemas']['Candle']
/** Milliseconds; both are starts of bars, `from ≤ start < to`. Ascending, at most `BARS_AT_ONCE`. */
type ReadBars = (range: { interval: string; from: number; to: number }) => Promise<readonly Bar[]>
type Width = { interval: string; ms: number }

/** As many as one request answers. */
export const BARS_AT_ONCE = 100

const COARSE: readonly Width[] = [
  { interval: '1d', ms: 86_400_000 },
  { interval: '1h', ms: 3_600_000 },
  { interval: '1m', ms: 60_000 },
]

/** The first `limit` bars that start in `since ≤ start < end`; fewer where there are no more. Throws `RangeError` for a bad timeframe. */
export async function barsSince(
  read: ReadBars,
  { timeframe, since, end, limit }: { timeframe: string; since: number; end: number; limit: number },
): Promise<Bar[]> {
  const width = { interval: timeframe, ms: milliseconds(timeframe) }
  const bars: Bar[] = []
  for (let from = since; from < end && bars.length < limit; ) {
    const to = Math.min(end, from + BARS_AT_ONCE * width.ms)
    const page = await read({ interval: timeframe, from, to })
    bars.push(...page)
    from = page.length > 0 || to >= end ? to : ((await firstStart(read, width, to, end)) ?? end)
  }
  return bars.slice(0, limit)
}

/** The start of the first bar from `since` on. Days are read first, then hours and minutes of one: a year without trades takes four requests. */
async function firstStart(read: ReadBars, width: Width, since: number, end: number): Promise<number | undefined> {
  const widths = [...COARSE.filter(({ ms }) => ms > width.ms), width]
  async function search(start: number, stop: number, depth: number): Promise<number | undefined> {
    const { interval, ms } = widths[depth] ?? width
    // A bar that began before may hold the first trade.
    for (let from = Math.floor(start / ms) * ms; from < stop; from += BARS_AT_ONCE * ms) {
      for (const { time } of await read({ interval, from, to: Math.min(stop, from + BARS_AT_ONCE * ms) })) {
        const found = Date.parse(time)
        if (depth < widths.length - 1) {
          const finer = await search(Math.max(found, since), Math.min(stop, found + ms), depth + 1)
          if (finer !== undefined) return finer
        } else if (found >= since) return found
      }
    }
    return undefined
  }
  return search(since, end, 0)
}

/** Throws `RangeError`. */
export function milliseconds(timeframe: string): number {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(timeframe) ?? []
  const seconds = { s: 1, m: 60, h: 3_600, d: 86_400 }[unit]
  if (count === undefined || seconds === undefined) throw new RangeError(`${timeframe} is no timeframe such as 5m.`)
  return Number(count) * seconds * 1_000
}
