/** Candles of a scene in its direction, volume in the quote asset. */
import { inverse } from '../../../market/model/inverse.ts'
import { type ChartCandle, toRows } from '../chart/candles.ts'
import type { QueryApi } from '../lib/client.ts'
import { Refusal } from '../lib/refusal.ts'
import { pairOf, type Scene } from './scene.ts'

export type CandlePage = {
  rows: readonly ChartCandle[]
  /** Unit of the volumes. */
  unit: string
  cost: number
  devnet: boolean
  incomplete: boolean
}

export type QueryCandles = (query: Readonly<Record<string, string>>, signal: AbortSignal) => Promise<CandlePage>

/** A pool alone is answered in its own order; the pair beside it inverts prices and volumes. */
export function openCandleQuery(ask: QueryApi, scene: Scene): QueryCandles {
  const { flipped, listing } = scene
  const [token0, token1] = listing.tokens
  /** Symbols are free text, and some make no valid pair: such candles are inverted here, without their volumes. */
  let isTurnedHere = false

  return async function askCandles(query, signal) {
    const byPair = flipped && !isTurnedHere
    const asked = byPair ? { ...query, symbol: pairOf(scene) } : query
    const answer = await ask('candles', asked, signal).catch((error: unknown) => {
      if (byPair && error instanceof Refusal && error.kind === 'question') isTurnedHere = true
      else throw error
    })
    if (answer === undefined) return askCandles(query, signal)
    const { body, devnet, incomplete } = answer
    const rows = toRows(body.data)
    return {
      rows: flipped && !byPair ? rows.map(inverse) : rows,
      unit: byPair ? token0 : token1,
      cost: body.credits_used,
      devnet,
      incomplete,
    }
  }
}
