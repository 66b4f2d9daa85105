/** Data of the shown scene that another scene of the same pool keeps. */
import type { Scene } from './market/scene.ts'
import type { SceneData } from './screen.ts'

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
