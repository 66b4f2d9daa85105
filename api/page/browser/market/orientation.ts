/** Direction of a pair: a pool's prices are of token0 in token1, and many pairs are usually quoted the other way round. */
import type { Bodies } from '../lib/client.ts'

export type TickRow = Bodies['ticks']['data'][number]

export function flipTick(tick: TickRow): TickRow {
  return {
    ...tick,
    price: 1 / tick.price,
    side: tick.side === 'buy' ? 'sell' : 'buy',
    amount0: tick.amount1,
    amount1: tick.amount0,
    token0: tick.token1,
    token1: tick.token0,
  }
}

/** Names of one token in the API. */
const SAME: readonly (readonly string[])[] = [
  ['ETH', 'WETH'],
  ['POL', 'MATIC', 'WPOL', 'WMATIC'],
]

/** Whether a named pair is the inverse of the pool's order. A token may be named differently from the pool's. */
export function isFlipped(pair: string, [token0, token1]: readonly [string, string]): boolean {
  const asked = pair.toUpperCase()
  const begins = (symbol: string) => Number(namesOf(symbol).some((name) => asked.startsWith(`${name}-`)))
  const ends = (symbol: string) => Number(namesOf(symbol).some((name) => asked.endsWith(`-${name}`)))
  return begins(token1) + ends(token0) > begins(token0) + ends(token1)
}

function namesOf(symbol: string): readonly string[] {
  const upper = symbol.toUpperCase()
  return SAME.find((names) => names.includes(upper)) ?? [upper]
}
