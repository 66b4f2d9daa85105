/** Candles and ticks of a pool in the order of a pair. */
import type { Address } from 'viem'
import { storedPrice } from '../../../aggregator/candles/price-estimate.ts'
import { storedSender } from '../../../aggregator/store/sender.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { type Side, sideOf } from '../../../ingest/model/tick.ts'
import { decimalNumber, decimalText } from '../../lib/decimal.ts'
import type { PriceKind } from '../../query/query.ts'
import { inverse } from './inverse.ts'
import { type Listing, shownSymbol } from './listing.ts'

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
}

export function viewPrice(forward: boolean, price: number): number {
  return forward ? price : 1 / price
}

export function viewCandle({ listing, forward }: PairView, bucket: FoldedCandle): CandleView {
  const { bucket: time, open, high, low, close, trades } = bucket
  const { token0, token1 } = listing.pool
  const volume = decimalNumber(bucket.volume, (forward ? token1 : token0).decimals)
  const candle = { time, open, high, low, close, volume, trades }
  return forward ? candle : inverse(candle)
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
}

export function viewTick(view: PairView, kind: PriceKind, stored: StoredTick): TickView {
  const { token0, token1 } = view.listing.pool
  const first = { raw: BigInt(stored.amount0), decimals: token0.decimals }
  const second = { raw: BigInt(stored.amount1), decimals: token1.decimals }
  const [base, quote] = view.forward ? [first, second] : [second, first]
  const price = storedPrice(kind === 'spot' ? 'spotPrice' : 'price', {
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
    price: viewPrice(view.forward, price),
    side: sideOf({ amount0: base.raw, amount1: quote.raw }),
    amount0: decimalText(base.raw, base.decimals),
    amount1: decimalText(quote.raw, quote.decimals),
    amountUsd: Number(stored.amount_usd),
  }
}
