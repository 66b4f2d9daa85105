/** A scene: one pool in one direction, with candles of one interval and kind of price. */

import type { PairPrice } from '../../../../query/query.ts'
import type { PoolBody } from '../lib/client.ts'

export type ShownPool = {
  id: string
  network: string
  /** In the pool's own order. */
  tokens: readonly [string, string]
  /** Undefined where the pool was found by its id and no search lists it. */
  pool: PoolBody | undefined
}

export type Scene = {
  listing: ShownPool
  flipped: boolean
  interval: string
  price: PairPrice
}

export function toListing(pool: PoolBody): ShownPool {
  return { id: pool.id, network: pool.network, tokens: [pool.token0.symbol, pool.token1.symbol], pool }
}

export function pairOf({ listing: { tokens }, flipped }: Scene): string {
  return (flipped ? tokens.toReversed() : tokens).join('-')
}

/** All requests of a scene name its pool, which costs less than a pair. */
export function poolQuery({ listing }: Scene): Record<string, string> {
  return { pool: listing.id, networks: listing.network }
}

/** With the flow of each candle. */
export function candleQuery(scene: Scene, limit: number, to?: string): Record<string, string> {
  const { interval, price } = scene
  const included = { include: 'flow', ...(to !== undefined && { to }) }
  return { ...poolQuery(scene), interval, price, limit: String(limit), ...included }
}

export function tickQuery(scene: Scene, from?: string): Record<string, string> {
  return { ...poolQuery(scene), price: scene.price, limit: '100', ...(from !== undefined && { from }) }
}

/** `FoldedRows` orders the ticks of one second by their position. */
export function tickStreamQuery(scene: Scene): Record<string, string> {
  return { ...tickQuery(scene), include: 'position' }
}

/** With the venue of each pool. */
export function pairQuery(pair: string): Record<string, string> {
  return { symbol: pair, include: 'market' }
}

const DAY = { rows: 96, seconds: 86_400, rowSeconds: 900 } as const

/** A day of 15-minute candles: their volumes add up to that of 24 h. */
export function dayQuery(scene: Scene): Record<string, string> {
  return { ...poolQuery(scene), interval: '15m', price: scene.price, limit: String(DAY.rows) }
}

/**
 * The query for the last second before 24 h ago; undefined where the pool had not traded by then. `rows`: the answer to `dayQuery`. Its last
 * row contains the service's time and bounds the browser's clock, which can shift the second by a quarter of an hour at most.
 */
export function dayOpenQuery(
  scene: Scene,
  rows: readonly { time: number }[],
  now: Date,
): Record<string, string> | undefined {
  const newest = rows.at(-1)?.time
  if (newest === undefined || rows.length < DAY.rows) return undefined
  const seconds = Math.min(Math.max(now.getTime() / 1_000, newest), newest + DAY.rowSeconds)
  const to = new Date((seconds - DAY.seconds) * 1_000).toISOString()
  return { ...poolQuery(scene), interval: '1s', price: scene.price, limit: '1', to }
}

export function sceneText(scene: Scene): string {
  return `${pairOf(scene)} ${scene.interval} (${scene.price})`
}

/** Notice while `wanted` is requested. */
export function pendingText(shown: Scene, wanted: string): string {
  return `These are still ${sceneText(shown)}. ${wanted} follows by itself.`
}
