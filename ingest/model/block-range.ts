/** Blocks by number, both ends included. */
export type BlockRange = { from: number; to: number }
