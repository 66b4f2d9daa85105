/** The candles that the page holds: one unbroken run, ascending, to which pages are added at either end. */
import type { Bodies } from './client.ts'

/** `time` is its start, in seconds. */
export type CandleRow = Omit<Bodies['candles']['data'][number], 'time'> & { time: number }

export function toRows(data: Bodies['candles']['data']): readonly CandleRow[] {
  return data.map((candle) => ({ ...candle, time: Date.parse(candle.time) / 1_000 }))
}

/** What is answered replaces what was held of its time: a candle in progress grows, and a reorg may undo one. */
export function joined(held: readonly CandleRow[], page: readonly CandleRow[]): readonly CandleRow[] {
  const [first, last] = [page[0], page.at(-1)]
  if (first === undefined || last === undefined) return held
  return [...held.filter(({ time }) => time < first.time), ...page, ...held.filter(({ time }) => time > last.time)]
}

/** Whether the newest candle held is in the page too, so that nothing can be missing between them. */
export function reaches(held: readonly CandleRow[], page: readonly CandleRow[]): boolean {
  const [newest, first] = [held.at(-1), page[0]]
  return newest === undefined || first === undefined || first.time <= newest.time
}
