/** The order flow of the last hour, to the minute: of the candles of the chart where they are as fine, else of one request. */
import type { ChartCandle } from '../chart/candles.ts'
import { candleQuery, type Scene } from './scene.ts'

export type HourFlow = {
  buys: number
  sells: number
  volume: number
  /** The part of `volume` that takers bought. */
  bought: number
  /** End of the newest candle, in seconds. */
  ends: number
}

const HOUR = { rows: 60, seconds: 3_600, rowSeconds: 60 } as const

export function hourQuery(scene: Scene): Record<string, string> {
  return candleQuery({ ...scene, interval: '1m' }, HOUR.rows)
}

/** `seconds`: length of the candles. `isWhole`: the pool had no trade before the first one. */
export function coversHour(rows: readonly ChartCandle[], seconds: number, isWhole: boolean): boolean {
  const [first, newest] = [rows[0], rows.at(-1)]
  if (first === undefined || newest === undefined || seconds > HOUR.rowSeconds) return false
  return isWhole || first.time <= startOf(newest, seconds)
}

/** Undefined where there is no candle. */
export function hourFlow(rows: readonly ChartCandle[], seconds: number = HOUR.rowSeconds): HourFlow | undefined {
  const newest = rows.at(-1)
  if (newest === undefined) return undefined
  const start = startOf(newest, seconds)
  const held = rows.filter(({ time }) => time >= start)
  const sum = (of: (row: ChartCandle) => number | undefined) => held.reduce((total, row) => total + (of(row) ?? 0), 0)
  return {
    buys: sum(({ buys }) => buys),
    sells: sum(({ sells }) => sells),
    volume: sum(({ volume }) => volume),
    bought: sum(({ buyVolume }) => buyVolume),
    ends: newest.time + seconds,
  }
}

function startOf(newest: ChartCandle, seconds: number): number {
  return newest.time + seconds - HOUR.seconds
}
