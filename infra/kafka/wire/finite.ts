/** Prices that JSON can write. */
import type { Tick } from '../../../ingest/model/tick.ts'

/** JSON has no NaN or Infinity: it writes null, which a reader would take for a price of 0. */
export function finite(price: number, tick: Tick): number {
  if (Number.isFinite(price)) return price
  throw new Error(
    `Tick ${tick.transactionHash}-${tick.logIndex} has the price ${price}, which is not finite: a bug in ingest/pricing.`,
  )
}
