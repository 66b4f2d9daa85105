/** The initial view: number and width of candles. */

/** Few candles are drawn wide at the right, and never as one block. */
export const MAX_BAR_PIXELS = 24
const FIRST_BARS = { min: 10, max: 100 } as const

/** The newest candles, as many as fit; in counts of candles. */
export function firstView(count: number): { from: number; to: number } {
  const bars = Math.min(FIRST_BARS.max, Math.max(FIRST_BARS.min, count))
  return { from: count - bars, to: count + 2 }
}
