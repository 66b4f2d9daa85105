/** Rows as JSON answers, streams and files have them. */
import { formatTime } from '../query/time.ts'
import type { CandleView, TickView } from './model/orientation.ts'

export const CANDLE_COLUMNS = [
  'time',
  'open',
  'high',
  'low',
  'close',
  'volume',
] as const satisfies readonly (keyof ReturnType<typeof candleRow>)[]

export const TICK_COLUMNS = [
  'id',
  'timestamp',
  'price',
  'side',
  'amount0',
  'amount1',
  'amountUSD',
  'token0',
  'token1',
  'block',
  'logIndex',
  'sender',
] as const satisfies readonly (keyof ReturnType<typeof tickRow>)[]

export function candleRow({ time, open, high, low, close, volume }: CandleView) {
  return { time: formatTime(time), open, high, low, close, volume }
}

/** `pair`: the symbols in the order of the view. */
export function tickRow(tick: TickView, [token0, token1]: readonly [string, string]) {
  return {
    id: tick.id,
    timestamp: formatTime(tick.time),
    price: tick.price,
    side: tick.side,
    amount0: tick.amount0,
    amount1: tick.amount1,
    amountUSD: tick.amountUsd,
    token0,
    token1,
    block: tick.block,
    logIndex: tick.logIndex,
    sender: tick.sender ?? null,
  }
}
