/** Inverted candles: the price of token1 in token0. Without imports, since the page's bundle includes it. */

type Ohlc = { open: number; high: number; low: number; close: number }

/** 1/x falls where x rises, so the inverse of the lowest price is the highest of the inverses, to the last bit. */
export function inverse<Row extends Ohlc>(row: Row): Row {
  return { ...row, open: 1 / row.open, high: 1 / row.low, low: 1 / row.high, close: 1 / row.close }
}
