/** The loaded data of a scene, and the part of it that another scene of the same pool keeps. */
import { parseInterval } from '../../../query/interval.ts'
import type { ChartCandle } from './chart/candles.ts'
import { amountText } from './lib/format.ts'
import type { SceneCandles } from './market/candle-query.ts'
import type { Figures } from './market/facts.ts'
import { coversHour, type HourFlow, hourFlow, hourQuery } from './market/hour.ts'
import type { TickRow } from './market/orientation.ts'
import { dayOpenQuery, dayQuery, type Scene } from './market/scene.ts'

export type SceneData = {
  scene: Scene
  /** In the direction of the scene. */
  rows: readonly ChartCandle[]
  /** Unit of the volumes. */
  unit: string
  /** In the pool's own order. */
  ticks: readonly TickRow[]
  day: Day | undefined
  /** As it was requested, where `rows` do not cover it. */
  hour: HourFlow | undefined
  devnet: boolean
  /** The time of the candles is not stored completely. */
  incomplete: boolean
}

export type Day = {
  /** Volume of the 24 h that end now, with its unit. */
  volume: string
  /** Price 24 h ago; undefined where the pool's trades began later. */
  open: number | undefined
}

export async function readDay(
  query: SceneCandles,
  scene: Scene,
  signal: AbortSignal,
): Promise<{ day: Day; cost: number }> {
  const { rows, unit, cost } = await query.ask(dayQuery(scene), signal)
  const volume = `${amountText(rows.reduce((sum, row) => sum + row.volume, 0))} ${unit}`
  const asked = dayOpenQuery(scene, rows, new Date())
  if (asked === undefined) return { day: { volume, open: undefined }, cost }
  const before = await query.ask(asked, signal)
  return { day: { volume, open: before.rows.at(-1)?.close }, cost: cost + before.cost }
}

/** Candles of a request; fewer are the whole market, where all of its time is stored. */
export const PAGE = 100

/** The flow of the last hour by the loaded candles; undefined where they do not cover it. */
export function loadedHour({ scene, rows, incomplete }: SceneData): HourFlow | undefined {
  const seconds = parseInterval(scene.interval) ?? 60
  const isWhole = rows.length < PAGE && !incomplete
  return coversHour(rows, seconds, isWhole) ? hourFlow(rows, seconds) : undefined
}

export async function readHour(
  query: SceneCandles,
  scene: Scene,
  signal: AbortSignal,
): Promise<{ hour: HourFlow | undefined; cost: number }> {
  const { rows, cost } = await query.ask(hourQuery(scene), signal)
  return { hour: hourFlow(rows), cost }
}

export function figuresOf(data: SceneData): Figures {
  const { rows, day, hour } = data
  const price = rows.at(-1)?.close
  const change = price === undefined || day?.open === undefined ? undefined : price / day.open - 1
  return { price, change, dayVolume: day?.volume, hour: loadedHour(data) ?? hour }
}

/** Loaded data of the same pool that is valid for another scene of it. */
export type CarriedData = Partial<Pick<SceneData, 'ticks' | 'day' | 'hour'>>

export function carriedData(shown: SceneData | undefined, wanted: Scene): CarriedData {
  if (shown === undefined) return {}
  const { scene, rows, ticks, day } = shown
  if (scene.listing.id !== wanted.listing.id || scene.listing.network !== wanted.listing.network) return {}
  const { hour } = figuresOf(shown)
  // Prices depend on the kind of price too.
  return {
    ...(scene.price === wanted.price && rows.length > 0 && { ticks }),
    ...(scene.flipped === wanted.flipped && scene.price === wanted.price && { day, hour }),
  }
}
