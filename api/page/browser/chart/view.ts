/** Which candles the chart begins with, and how wide. */

/** Few candles are drawn wide and at the right, and none as a block. */
export const MAX_BAR_PIXELS = 24
const FIRST_BARS = { min: 10, max: 100 } as const

/** The newest candles, as many as stand well beside each other; in counts of candles. */
export function firstView(count: number): { from: number; to: number } {
  const bars = Math.min(FIRST_BARS.max, Math.max(FIRST_BARS.min, count))
  return { from: count - bars, to: count + 2 }
}
