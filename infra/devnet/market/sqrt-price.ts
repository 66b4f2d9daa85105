/** Prices and liquidity in the pools' own numbers; doubles are good enough for a market that we make up. */

const TICK_BASE = 1.0001
const Q96 = 2 ** 96
const MAX_TICK = 887_272

type PairDecimals = { decimals0: number; decimals1: number }

/** `price` is token1 per token0, decimal-adjusted. */
export function sqrtPriceX96Of(price: number, { decimals0, decimals1 }: PairDecimals): bigint {
  return BigInt(Math.floor(Math.sqrt(price * 10 ** (decimals1 - decimals0)) * Q96))
}

export function priceOf(sqrtPriceX96: bigint, { decimals0, decimals1 }: PairDecimals): number {
  return (Number(sqrtPriceX96) / Q96) ** 2 * 10 ** (decimals0 - decimals1)
}

export type Ticks = { tickLower: number; tickUpper: number }

/** From price / (1 + width) to price · (1 + width), on the grid of usable ticks. */
export function ticksAround(
  price: number,
  width: number,
  spacing: number,
  { decimals0, decimals1 }: PairDecimals,
): Ticks {
  const raw = price * 10 ** (decimals1 - decimals0)
  const tickOf = (value: number) => Math.log(value) / Math.log(TICK_BASE)
  const tickLower = Math.floor(tickOf(raw / (1 + width)) / spacing) * spacing
  const tickUpper = Math.ceil(tickOf(raw * (1 + width)) / spacing) * spacing
  const full = fullRange(spacing)
  return { tickLower: Math.max(tickLower, full.tickLower), tickUpper: Math.min(tickUpper, full.tickUpper) }
}

export function fullRange(spacing: number): Ticks {
  const tickUpper = Math.floor(MAX_TICK / spacing) * spacing
  return { tickLower: -tickUpper, tickUpper }
}

export type Worth = PairDecimals & {
  /** Token1 per token0, decimal-adjusted. */
  price: number
  /** Dollars for a whole token1. */
  usd1: number
}

/** The liquidity of a position between those ticks that is worth `usd` dollars at that price. */
export function liquidityWorth(usd: number, { tickLower, tickUpper }: Ticks, worth: Worth): bigint {
  const { decimals0, decimals1, price, usd1 } = worth
  const lower = TICK_BASE ** (tickLower / 2)
  const upper = TICK_BASE ** (tickUpper / 2)
  const now = Math.min(Math.max(Math.sqrt(price * 10 ** (decimals1 - decimals0)), lower), upper)
  const tokens0 = (1 / now - 1 / upper) / 10 ** decimals0
  const tokens1 = (now - lower) / 10 ** decimals1
  return BigInt(Math.floor(usd / (tokens0 * price * usd1 + tokens1 * usd1)))
}
