/** Rows as JSON answers, streams and files have them. */
import { CANDLE_ADDITIONS, type CandleAddition, TICK_ADDITIONS, type TickAddition } from '../query/include.ts'
import { formatTime } from '../query/time.ts'
import { hookFields } from './model/hooked-swap.ts'
import type { CandleView, TickView } from './model/orientation.ts'

const CANDLE_COLUMNS = ['time', 'open', 'high', 'low', 'close', 'volume'] as const satisfies readonly (keyof ReturnType<
  typeof candleRow
>)[]

const TICK_COLUMNS = [
  'id',
  'timestamp',
  'price',
  'side',
  'amount0',
  'amount1',
  'amountUSD',
  'token0',
  'token1',
] as const satisfies readonly (keyof ReturnType<typeof tickRow>)[]

/** The names of the fields of a row, in its order. */
export function candleColumns(included: readonly CandleAddition[] = []) {
  return [...CANDLE_COLUMNS, ...included.flatMap((name) => CANDLE_ADDITIONS[name])]
}

export function tickColumns(included: readonly TickAddition[] = []) {
  return [...TICK_COLUMNS, ...included.flatMap((name) => TICK_ADDITIONS[name])]
}

/** `flow` is there where it was asked for; its fields follow the others. */
export function candleRow({ time, open, high, low, close, volume, flow }: CandleView) {
  return { time: formatTime(time), open, high, low, close, volume, ...flow }
}

/** The symbols are in the order of the view; `included` fields follow the others. */
export function tickRow(
  tick: TickView,
  [token0, token1]: readonly [string, string],
  included: readonly TickAddition[] = [],
) {
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
    ...(included.includes('position') && { block: tick.block, logIndex: tick.logIndex }),
    ...(included.includes('sender') && { sender: tick.sender ?? null }),
    ...(included.includes('hooks') && hookFields(tick)),
  }
}
