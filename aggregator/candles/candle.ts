/** A candle: the sum of a stretch of ticks. */

import { isExecuted, sideOf, type Tick } from '../../ingest/model/tick.ts'
import { magnitude } from '../../ingest/pricing/price.ts'

export const RESOLUTIONS = [1, 60, 3_600, 86_400] as const
/** Seconds of a stored bucket. */
export type Resolution = (typeof RESOLUTIONS)[number]

export type Prices = { open: number; high: number; low: number; close: number }

export type Candle = {
  /** Execution prices, token1 per token0, from executed ticks only (`isExecuted`). All are 0 without such a tick: no swap has that price. */
  execution: Prices
  /** By spot price after each swap. */
  spot: Prices
  /** Raw units, sums of magnitudes. */
  volume0: bigint
  volume1: bigint
  volumeUsdMicros: bigint
  /** At least 1: a candle without trades is no candle. */
  trades: number
  /** Trades whose taker bought token0 (`sideOf`), and the parts of the volumes that they have. */
  buys: number
  buyVolume0: bigint
  buyVolume1: bigint
  /** Trades of 0 for 0, which are buys in either direction of the pair. */
  unexecuted: number
}

export function fromTick(tick: Tick): Candle {
  const [volume0, volume1] = [magnitude(tick.amount0), magnitude(tick.amount1)]
  const isBuy = sideOf(tick) === 'buy'
  return {
    execution: single(executed(tick)),
    spot: single(tick.spotPrice),
    volume0,
    volume1,
    volumeUsdMicros: tick.amountUsdMicros,
    trades: 1,
    buys: isBuy ? 1 : 0,
    buyVolume0: isBuy ? volume0 : 0n,
    buyVolume1: isBuy ? volume1 : 0n,
    unexecuted: isExecuted(tick) ? 0 : 1,
  }
}

/**
 * The candle of two stretches. `earlier` ends before `later` begins.
 * Law: merge is associative. However a stream of ticks is cut and in whatever order neighbours are merged, the candle has the same bits:
 * sums are integers, and the rest is first, last, least and greatest.
 */
export function merge(earlier: Candle, later: Candle): Candle {
  return {
    execution: mergeExecutions(earlier.execution, later.execution),
    spot: mergePrices(earlier.spot, later.spot),
    volume0: earlier.volume0 + later.volume0,
    volume1: earlier.volume1 + later.volume1,
    volumeUsdMicros: earlier.volumeUsdMicros + later.volumeUsdMicros,
    trades: earlier.trades + later.trades,
    buys: earlier.buys + later.buys,
    buyVolume0: earlier.buyVolume0 + later.buyVolume0,
    buyVolume1: earlier.buyVolume1 + later.buyVolume1,
    unexecuted: earlier.unexecuted + later.unexecuted,
  }
}

/** The start of the bucket that holds `timestamp`, aligned to 1970-01-01. */
export function bucketStart(timestamp: number, seconds: number): number {
  return Math.floor(timestamp / seconds) * seconds
}

function executed(tick: Tick): number {
  return isExecuted(tick) ? tick.price : 0
}

function single(price: number): Prices {
  return { open: price, high: price, low: price, close: price }
}

function mergeExecutions(earlier: Prices, later: Prices): Prices {
  if (later.open === 0) return { ...earlier }
  if (earlier.open === 0) return { ...later }
  return mergePrices(earlier, later)
}

function mergePrices(earlier: Prices, later: Prices): Prices {
  return {
    open: earlier.open,
    high: Math.max(earlier.high, later.high),
    low: Math.min(earlier.low, later.low),
    close: later.close,
  }
}
