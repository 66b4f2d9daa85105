/** Candles as the interface describes them, folded one by one from the ticks that the service returns. Shares nothing with the code. */

/** An element of `data` in GET /ticks, as far as a candle needs it. */
export type FoldTick = { timestamp: string; price: number; amount1: string }
export type FoldCandle = { time: string; open: number; high: number; low: number; close: number; volume: number }

/** Ticks that have a price of the kind: a swap of 0 for 0 is executed at no price. */
export function priced<T extends FoldTick & { amount0: string }>(ticks: readonly T[], kind: string): T[] {
  return ticks.filter(({ amount0, amount1 }) => kind === 'spot' || Number(amount0) !== 0 || Number(amount1) !== 0)
}

/** The same ticks with what a candle in dollars adds up in place of the second token. */
export function inDollars<T extends FoldTick & { amountUSD: number }>(ticks: readonly T[]): T[] {
  return ticks.map((tick) => ({ ...tick, amount1: tick.amountUSD.toFixed(6) }))
}

/** Ticks ascend. Buckets are counted from 1970; volume is the sum of what moved of the second token, rounded once. */
export function foldTicks(ticks: readonly FoldTick[], interval: number): FoldCandle[] {
  const candles: FoldCandle[] = []
  const scale = Math.max(0, ...ticks.map((tick) => tick.amount1.split('.')[1]?.length ?? 0))
  let raw = 0n
  for (const tick of ticks) {
    const second = Date.parse(tick.timestamp) / 1000
    const time = iso(second - (second % interval))
    const amount = rawOf(tick.amount1, scale)
    let candle = candles.at(-1)
    if (candle === undefined || candle.time !== time) {
      candle = { time, open: tick.price, high: tick.price, low: tick.price, close: tick.price, volume: 0 }
      candles.push(candle)
      raw = 0n
    }
    raw += amount < 0n ? -amount : amount
    candle.high = Math.max(candle.high, tick.price)
    candle.low = Math.min(candle.low, tick.price)
    candle.close = tick.price
    candle.volume = Number(`${raw}e-${scale}`)
  }
  return candles
}

/** A flat candle for every empty bucket after the first candle, up to `last`, both included. */
export function fillFolded(candles: readonly FoldCandle[], interval: number, last: number): FoldCandle[] {
  const rows: FoldCandle[] = []
  const byTime = new Map(candles.map((candle) => [candle.time, candle]))
  const [first] = candles
  if (first === undefined) return rows
  let close = first.open
  const end = Math.max(last - (last % interval), Date.parse(candles.at(-1)?.time ?? '') / 1000)
  for (let second = Date.parse(first.time) / 1000; second <= end; second += interval) {
    const time = iso(second)
    const candle = byTime.get(time) ?? { time, open: close, high: close, low: close, close, volume: 0 }
    rows.push(candle)
    close = candle.close
  }
  return rows
}

function rawOf(text: string, scale: number): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(scale, '0'))
}

function iso(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}

export type FoldFlow = Record<
  'trades' | 'buys' | 'sells' | 'volumeBase' | 'volumeQuote' | 'volumeUsd' | 'buyVolume',
  number
> & { vwap: number | null }

/** The flow of each candle, by its time. */
export function foldFlow(
  ticks: readonly (FoldTick & { amount0: string; amountUSD: number; side: string })[],
  interval: number,
  price?: string,
): ReadonlyMap<string, FoldFlow> {
  const groups = new Map<string, (typeof ticks)[number][]>()
  for (const tick of ticks) {
    const second = Date.parse(tick.timestamp) / 1000
    const time = iso(second - (second % interval))
    groups.set(time, [...(groups.get(time) ?? []), tick])
  }
  return new Map([...groups].map(([time, group]) => [time, flowOf(group, price)]))
}

/** A candle without a trade. */
export const NO_TRADES: FoldFlow = {
  ...{ trades: 0, buys: 0, sells: 0, volumeBase: 0, volumeQuote: 0, volumeUsd: 0, buyVolume: 0 },
  vwap: null,
}

/** Places of every token, and of dollars. */
const PLACES = 24

function flowOf(
  ticks: readonly { amount0: string; amount1: string; amountUSD: number; side: string }[],
  price: string | undefined,
): FoldFlow {
  const buys = ticks.filter(({ side }) => side === 'buy')
  const base = sizes(ticks.map(({ amount0 }) => amount0))
  const quote = sizes(ticks.map(({ amount1 }) => amount1))
  const dollars = sizes(ticks.map(({ amountUSD }) => amountUSD.toFixed(6)))
  return {
    trades: ticks.length,
    buys: buys.length,
    sells: ticks.length - buys.length,
    volumeBase: numberOf(base),
    volumeQuote: numberOf(quote),
    volumeUsd: numberOf(dollars),
    buyVolume: numberOf(sizes(buys.map(({ amount1 }) => amount1))),
    vwap: base === 0n ? null : quotient(price === 'usd' ? dollars : quote, base),
  }
}

function sizes(texts: readonly string[]): bigint {
  return texts.reduce((sum, text) => sum + rawOf(text.replace('-', ''), PLACES), 0n)
}

function numberOf(raw: bigint): number {
  return Number(`${raw}e-${PLACES}`)
}

/** By 400 decimal places, which no two neighbours among doubles of prices share: the text is rounded once. */
function quotient(numerator: bigint, denominator: bigint): number {
  return Number(`${(numerator * 10n ** 400n) / denominator}e-400`)
}
