/** Candles as the interface describes them, folded one by one from the ticks that the service returns. Shares nothing with the code. */

/** An element of `data` in GET /ticks, as far as a candle needs it. */
export type FoldTick = { timestamp: string; price: number; amount1: string }
export type FoldCandle = { time: string; open: number; high: number; low: number; close: number; volume: number }

/** Ticks that have a price of the kind: a swap of 0 for 0 is executed at no price. */
export function priced<T extends FoldTick & { amount0: string }>(ticks: readonly T[], kind: string): T[] {
  return ticks.filter(({ amount0, amount1 }) => kind === 'spot' || Number(amount0) !== 0 || Number(amount1) !== 0)
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
