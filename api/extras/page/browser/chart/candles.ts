/** The loaded candles: one unbroken run, ascending, extended by pages at either end. */
import type { Bodies } from '../lib/client.ts'

/** `time` is its start, in seconds. The fields of its flow are there where `include=flow` asked for them. */
export type ChartCandle = Omit<Bodies['candles']['data'][number], 'time'> & { time: number }

/** In the order of the API. */
export const COLUMNS = [
  ...(['time', 'open', 'high', 'low', 'close', 'volume'] as const),
  ...(['trades', 'buys', 'sells', 'volumeBase', 'volumeQuote', 'volumeUsd', 'buyVolume', 'vwap'] as const),
]

export function toRows(data: Bodies['candles']['data']): readonly ChartCandle[] {
  return data.map((candle) => ({ ...candle, time: Date.parse(candle.time) / 1_000 }))
}

/** The parts of the volume that takers bought and sold. */
export function sidesOfVolume({ volume, buyVolume = 0 }: ChartCandle): { bought: number; sold: number } {
  return { bought: buyVolume, sold: volume - buyVolume }
}

export type BarSide = 'up' | 'down'

/**
 * The side of each candle: by its open and close, or by the latest close that differs where they are equal, as in a candle of one
 * trade. Up where no price differs yet.
 */
export function sidesOf(rows: readonly ChartCandle[]): readonly BarSide[] {
  let side: BarSide = 'up'
  let before: number | undefined
  return rows.map(({ open, close }) => {
    const from = open === close ? (before ?? open) : open
    if (close !== from) side = close < from ? 'down' : 'up'
    before = close
    return side
  })
}

/** An answer replaces the loaded candles of its time: a candle in progress grows, and a reorg may undo one. */
export function joined(loaded: readonly ChartCandle[], page: readonly ChartCandle[]): readonly ChartCandle[] {
  const [first, last] = [page[0], page.at(-1)]
  if (first === undefined || last === undefined) return loaded
  return [...loaded.filter(({ time }) => time < first.time), ...page, ...loaded.filter(({ time }) => time > last.time)]
}

/** A later answer of the same chain, up to its newest candle. Unchanged rows stay the same objects. */
export function continued(loaded: readonly ChartCandle[], page: readonly ChartCandle[]): readonly ChartCandle[] {
  const start = page[0]?.time ?? Number.POSITIVE_INFINITY
  const known = new Map(loaded.map((row) => [row.time, row]))
  const rows = page.map((row) => {
    const old = known.get(row.time)
    return old !== undefined && isSame(old, row) ? old : row
  })
  return [...loaded.filter(({ time }) => time < start), ...rows]
}

/**
 * Whether an answer may be of the same chain as the loaded candles. Before its first trade a pool has no candles, so an answer that
 * `isShort` of its limit begins with the market. The newest loaded candle was in progress and proves nothing.
 */
export function continues(loaded: readonly ChartCandle[], page: readonly ChartCandle[], isShort: boolean): boolean {
  const [oldest, first] = [loaded[0], page[0]]
  if (oldest === undefined) return true
  if (isShort && (first === undefined || oldest.time < first.time)) return false
  if (first === undefined) return true
  const over = loaded.slice(0, -1).find(({ time }) => time === first.time)
  return over === undefined || isSame(over, first)
}

/** Whether two runs share a candle with trades: a reorg or a late trade changes only the newest candles. */
export function shareTrades(loaded: readonly ChartCandle[], page: readonly ChartCandle[]): boolean {
  const known = new Map(loaded.map((row) => [row.time, row]))
  return page.some((row) => {
    const old = known.get(row.time)
    return old !== undefined && row.volume > 0 && isSame(old, row)
  })
}

export function isSame(one: ChartCandle, other: ChartCandle): boolean {
  return COLUMNS.every((column) => one[column] === other[column])
}

/** Whether the page contains the newest loaded candle, so that nothing is missing between them. */
export function reaches(loaded: readonly ChartCandle[], page: readonly ChartCandle[]): boolean {
  const [newest, first] = [loaded.at(-1), page[0]]
  return newest === undefined || first === undefined || first.time <= newest.time
}
