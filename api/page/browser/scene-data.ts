/** The loaded data of a scene, and the part of it that another scene of the same pool keeps. */
import type { ChartCandle } from './chart/candles.ts'
import type { TickRow } from './market/orientation.ts'
import type { Scene } from './market/scene.ts'

export type SceneData = {
  scene: Scene
  /** In the direction of the scene. */
  rows: readonly ChartCandle[]
  /** Unit of the volumes. */
  unit: string
  /** In the pool's own order. */
  ticks: readonly TickRow[]
  /** Volume of the 24 h that end now, with its unit. */
  dayVolume: string | undefined
  devnet: boolean
  /** The time of the candles is not stored completely. */
  incomplete: boolean
}

/** Loaded data of the same pool that is valid for another scene of it. */
export type CarriedData = Partial<Pick<SceneData, 'ticks' | 'dayVolume'>>

export function carriedData(shown: SceneData | undefined, wanted: Scene): CarriedData {
  if (shown === undefined) return {}
  const { scene, rows, ticks, dayVolume } = shown
  if (scene.listing.id !== wanted.listing.id || scene.listing.network !== wanted.listing.network) return {}
  // The price of trades depends on the kind of price too.
  return {
    ...(scene.price === wanted.price && rows.length > 0 && { ticks }),
    ...(scene.flipped === wanted.flipped && { dayVolume }),
  }
}
