/** Direction of a pair: a pool's prices are of token0 in token1, and many pairs are usually quoted the other way round. */
import { inverse } from '../../../../market/model/inverse.ts'
import type { ChartCandle } from '../chart/candles.ts'
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

/**
 * A candle of the inverse price whose volumes stay in the same token: the part of `volume` that bought the pair sold its inverse. What
 * takers paid in the other token is not known by side.
 */
export function flipCandle(candle: ChartCandle): ChartCandle {
  const turned = inverse(candle)
  if (!hasFlow(candle)) return turned
  const { buys, sells, volume, buyVolume, volumeBase, volumeQuote } = candle
  return {
    ...turned,
    buys: sells,
    sells: buys,
    volumeBase: volumeQuote,
    volumeQuote: volumeBase,
    buyVolume: volume - buyVolume,
    vwap: volumeQuote === 0 ? null : volumeBase / volumeQuote,
  }
}

type WithFlow = { [Name in keyof ChartCandle]-?: Exclude<ChartCandle[Name], undefined> }

function hasFlow(candle: ChartCandle): candle is WithFlow {
  return candle.buyVolume !== undefined
}

/** Names of one token in the API. */
const SAME: readonly (readonly string[])[] = [
  ['ETH', 'WETH'],
  ['POL', 'MATIC', 'WPOL', 'WMATIC'],
]

/** `weth/usdc` and `weth usdc` as pairs are written. */
export function hyphenated(typed: string): string {
  return typed.trim().replace(/[\s/]+/g, '-')
}

/** Whether a named pair is the inverse of the pool's order. A token may be named differently from the pool's, and `WETHUSDC` has no hyphen. */
export function isFlipped(pair: string, [token0, token1]: readonly [string, string]): boolean {
  const asked = pair.toUpperCase()
  const between = asked.includes('-') ? '-' : ''
  const begins = (symbol: string) => Number(namesOf(symbol).some((name) => asked.startsWith(name + between)))
  const ends = (symbol: string) => Number(namesOf(symbol).some((name) => asked.endsWith(between + name)))
  return begins(token1) + ends(token0) > begins(token0) + ends(token1)
}

/** In upper case, with common names: `BTC` for WBTC and cbBTC, `USD` for a stablecoin. */
export function namesOf(symbol: string): readonly string[] {
  const upper = symbol.toUpperCase()
  const names = SAME.find((same) => same.includes(upper)) ?? [upper]
  return [...names, ...(upper.includes('BTC') ? ['BTC'] : []), ...(/USD|^DAI$/.test(upper) ? ['USD'] : [])]
}
