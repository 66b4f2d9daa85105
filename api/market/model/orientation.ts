/** Candles and ticks of a pool in the order of a pair. */
import type { Address } from 'viem'
import { storedPrice } from '../../../aggregator/candles/price-estimate.ts'
import { storedSender } from '../../../aggregator/store/sender.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { type Side, sideOf } from '../../../ingest/model/tick.ts'
import { powerOfTen } from '../../../ingest/pricing/price.ts'
import { ratioToNumber } from '../../../ingest/pricing/ratio.ts'
import { decimalNumber, decimalText } from '../../lib/decimal.ts'
import type { PairPrice, PriceKind } from '../../query/query.ts'
import { inverse } from './inverse.ts'
import { type Listing, shownSymbol } from './listing.ts'
import { microsOf, USD_DECIMALS, usdPrice } from './usd-price.ts'

/** A pool and the direction of the query: `forward` is the pool's own order, token1 per token0. */
export type PairView = { listing: Listing; forward: boolean }

/** A folded bucket in the pool's own order: prices are token1 per token0, `volume` is raw, in the view's second token. */
export type FoldedCandle = {
  bucket: UnixSeconds
  open: number
  high: number
  low: number
  close: number
  volume: bigint
  trades: number
  flow: FoldedFlow | undefined
}

/** `baseVolume` is raw, in the view's first token. Buys are of token0; `buyVolume` is their part of `volume`. See `Candle`. */
export type FoldedFlow = {
  baseVolume: bigint
  usdMicros: bigint
  buyVolume: bigint
  buys: number
  unexecuted: number
}

/** A candle in the order of the view. `time` is its start; volume is in the second token of the pair. */
export type CandleView = {
  time: number
  open: number
  high: number
  low: number
  close: number
  volume: number
  /** 0: carried forward from the close before. */
  trades: number
  /** Absent where it is not asked for. */
  flow?: CandleFlow
}

/** The trades of a candle: `volumeBase` in the first token of the pair, `volumeQuote` and `buyVolume` in the second one. */
export type CandleFlow = {
  trades: number
  buys: number
  sells: number
  volumeBase: number
  volumeQuote: number
  volumeUsd: number
  /** Paid by takers that bought. */
  buyVolume: number
  /** `volumeQuote` / `volumeBase`, rounded once from the exact sums; null where nothing of the first token was traded. */
  vwap: number | null
}

export const NO_FLOW: CandleFlow = {
  ...{ trades: 0, buys: 0, sells: 0 },
  ...{ volumeBase: 0, volumeQuote: 0, volumeUsd: 0, buyVolume: 0, vwap: null },
}

export function viewPrice(forward: boolean, price: number): number {
  return forward ? price : 1 / price
}

export function viewCandle({ listing, forward }: PairView, bucket: FoldedCandle, kind: PairPrice): CandleView {
  const { bucket: time, open, high, low, close, trades } = bucket
  const { token0, token1 } = listing.pool
  const [base, quote] = forward ? [token0, token1] : [token1, token0]
  const volume = decimalNumber(bucket.volume, quote.decimals)
  const units = { base: base.decimals, quote: quote.decimals }
  const flow = bucket.flow && viewFlow(bucket, bucket.flow, { forward, kind, ...units })
  const candle = { time, open, high, low, close, volume, trades, ...(flow && { flow }) }
  return forward ? candle : inverse(candle)
}

/** The direction and the kind of price of a view, and the decimals of its two tokens. */
type FlowView = { forward: boolean; kind: PairPrice; base: number; quote: number }

/** A buy of token0 is a sell of token1. A trade of 0 for 0 is executed at no price; with spot prices it is a buy, in either direction. */
export function viewFlow(
  { volume, trades }: Pick<FoldedCandle, 'volume' | 'trades'>,
  { baseVolume, usdMicros, buyVolume, ...counts }: FoldedFlow,
  { forward, kind, base, quote }: FlowView,
): CandleFlow {
  const [bought, sold] = [counts.buys - counts.unexecuted, trades - counts.buys]
  const buys = (forward ? bought : sold) + (kind === 'spot' ? counts.unexecuted : 0)
  const sells = forward ? sold : bought
  return {
    trades: buys + sells,
    buys,
    sells,
    volumeBase: decimalNumber(baseVolume, base),
    volumeQuote: decimalNumber(volume, quote),
    volumeUsd: decimalNumber(usdMicros, USD_DECIMALS),
    buyVolume: decimalNumber(forward ? buyVolume : volume - buyVolume, quote),
    vwap: averagePrice(volume, quote, baseVolume, base),
  }
}

/** The quotient of raw amounts, rounded once; null where there is no base. */
export function averagePrice(quote: bigint, quoteDecimals: number, base: bigint, baseDecimals: number): number | null {
  if (base === 0n) return null
  return quote === 0n ? 0 : ratioToNumber(quote * powerOfTen(baseDecimals), base * powerOfTen(quoteDecimals))
}

/** The two symbols in the order of the view. */
export function viewPair({ listing, forward }: PairView): readonly [string, string] {
  const { network, pool } = listing
  const symbols = [shownSymbol(network, pool.token0), shownSymbol(network, pool.token1)] as const
  return forward ? symbols : [symbols[1], symbols[0]]
}

export type StoredTick = {
  time: number
  block: number
  transaction_hash: string
  log_index: number
  sender: string
  amount0: string
  amount1: string
  sqrt_price: string
  scale: number
  /** Price of the requested kind. */
  ulps: string
  amount_usd: string
  /** null where the events of the pool's hook say nothing about the swap. */
  hook_amount0: string | null
  hook_amount1: string | null
}

/** Raw amounts in the pool's own order. Those of the hook are null where its events say nothing. */
export type HookedSwap = {
  view: PairView
  amount0: bigint
  amount1: bigint
  hookAmount0: string | null
  hookAmount1: string | null
}

/** A swap as the taker saw it, in the order of the view. */
export type TickView = {
  id: string
  time: number
  block: number
  logIndex: number
  /** Undefined in rows of versions that did not keep it. */
  sender: Address | undefined
  price: number
  side: Side
  amount0: string
  amount1: string
  amountUsd: number
  swap: HookedSwap
}

export function viewTick(view: PairView, kind: PriceKind, stored: StoredTick): TickView {
  const { token0, token1 } = view.listing.pool
  const first = { raw: BigInt(stored.amount0), decimals: token0.decimals }
  const second = { raw: BigInt(stored.amount1), decimals: token1.decimals }
  const [base, quote] = view.forward ? [first, second] : [second, first]
  const poolPrice = () =>
    storedPrice(kind === 'spot' ? 'spotPrice' : 'price', {
      amount0: first.raw,
      amount1: second.raw,
      sqrtPriceX96: BigInt(stored.sqrt_price),
      scale: stored.scale,
      ulps: BigInt(stored.ulps),
    })
  return {
    id: `0x${stored.transaction_hash}-${stored.log_index}`,
    time: stored.time,
    block: stored.block,
    logIndex: stored.log_index,
    sender: storedSender(stored.sender),
    price:
      kind === 'usd'
        ? usdPrice(microsOf(stored.amount_usd), base.raw, base.decimals)
        : viewPrice(view.forward, poolPrice()),
    side: sideOf({ amount0: base.raw, amount1: quote.raw }),
    amount0: decimalText(base.raw, base.decimals),
    amount1: decimalText(quote.raw, quote.decimals),
    amountUsd: Number(stored.amount_usd),
    swap: {
      view,
      amount0: first.raw,
      amount1: second.raw,
      hookAmount0: stored.hook_amount0,
      hookAmount1: stored.hook_amount1,
    },
  }
}
