/** The initial view: number and width of candles. */

/** Few candles fill the chart from the right, up to this width: a single one is not a block. */
export const MAX_BAR_PIXELS = 60
const FIRST_BARS = 100
/** Empty places at the right, for the next candles. */
const FREE_BARS = 2

/** The newest candles, as many as fit; in counts of candles. */
export function firstView(count: number): { from: number; to: number } {
  return { from: Math.max(0, count - FIRST_BARS), to: count + FREE_BARS }
}
