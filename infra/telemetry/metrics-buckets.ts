/** Where histograms are cut. */

/** From a quarter of a millisecond, since a warm answer takes less than one. */
export const SECONDS = [
  0.00025, 0.0005, 0.00075, 0.001, 0.0015, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]
export const DEPTH_BLOCKS = [1, 2, 3, 5, 8, 16, 32, 64, 128, 512]
/** A flush holds one block's ticks, or those of many while history is read. */
export const ROWS = [0, 1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000]
