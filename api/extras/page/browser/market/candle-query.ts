/** Candles of a scene in its direction, volume in the quote asset. */
import { type ChartCandle, toRows } from '../chart/candles.ts'
import type { Bodies, QueryApi } from '../lib/client.ts'
import { Refusal } from '../lib/refusal.ts'
import { flipCandle } from './orientation.ts'
import { pairOf, type Scene } from './scene.ts'

export type CandlePage = {
  rows: readonly ChartCandle[]
  /** Unit of the volumes. */
  unit: string
  cost: number
  devnet: boolean
  incomplete: boolean
}

export type SceneCandles = {
  ask(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<CandlePage>
  /** The query as it is sent, and its rows in the direction of the scene. */
  form(query: Readonly<Record<string, string>>): {
    asked: Readonly<Record<string, string>>
    unit: string
    rowsOf(data: Bodies['candles']['data']): readonly ChartCandle[]
  }
}

/** A pool alone is answered in its own order; the pair beside it inverts prices and volumes. */
export function openCandleQuery(ask: QueryApi, scene: Scene): SceneCandles {
  const { flipped, listing } = scene
  const [token0, token1] = listing.tokens
  /** Symbols are free text, and some make no valid pair: such candles are inverted here, with volumes in the same token. */
  let isTurnedHere = false

  const form: SceneCandles['form'] = (query) => {
    const byPair = flipped && !isTurnedHere
    return {
      asked: byPair ? { ...query, symbol: pairOf(scene) } : query,
      unit: byPair ? token0 : token1,
      rowsOf: (data) => (isTurnedHere ? toRows(data).map(flipCandle) : toRows(data)),
    }
  }

  return {
    form,
    async ask(query, signal) {
      const { asked, unit, rowsOf } = form(query)
      const answer = await ask('candles', asked, signal).catch((error: unknown) => {
        if (asked !== query && error instanceof Refusal && error.kind === 'question') isTurnedHere = true
        else throw error
      })
      if (answer === undefined) return this.ask(query, signal)
      const { body, devnet, incomplete } = answer
      return { rows: rowsOf(body.data), unit, cost: body.credits_used, devnet, incomplete }
    },
  }
}
