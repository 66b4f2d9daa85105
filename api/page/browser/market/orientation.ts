/** A pool's prices are of its token0 in token1; people read many pairs the other way round. */
import type { ListedToken } from '../../tokens.ts'
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

/** Names that mean one token to the API. */
const SAME: readonly (readonly string[])[] = [
  ['ETH', 'WETH'],
  ['POL', 'MATIC', 'WPOL', 'WMATIC'],
]

/** Whether a pair, as somebody named it, is the pool's own order turned round. A token may be named as the pool does not name it. */
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

const RANKS = { stablecoin: 3, priced: 2, listed: 1 } as const

/** The pair as people read it: the steadier token is what is paid with. */
export function usualPair(one: string, other: string, tokens: readonly ListedToken[]): string {
  const rank = (symbol: string) => {
    const role = tokens.find((token) => token.symbol === symbol)?.role
    return role === undefined ? 0 : RANKS[role]
  }
  return rank(one) > rank(other) ? `${other}-${one}` : `${one}-${other}`
}
