/**
 * The price of a token in dollars: those of a swap by the units of the token that it moved. Both are rounded to whole units, of a token and of a
 * millionth of a dollar, so a swap with few of either has no such price: the error of the others is at most a hundredth of a per cent.
 * A swap has a price of both of its tokens, or of neither.
 */
import { parseUnits } from 'viem'
import { sizeOf } from '../../../aggregator/candles/price-estimate.ts'
import { NATIVE_CURRENCY, type Network, trustedToken } from '../../../ingest/model/network.ts'
import { Problem } from '../../lib/problem.ts'
import type { Listing } from './listing.ts'

/** Raw units of each token, and millionths of a dollar. */
const LEAST = 10_000
export const USD_DECIMALS = 6

/** Parameters of the statements that read swaps with a dollar price. */
export const LEAST_PRICED = { least_units: LEAST, least_usd: `${LEAST / 10 ** USD_DECIMALS}` } as const

/** Millionths of a dollar, from a `Decimal` of six places as text. */
export function microsOf(dollars: string): bigint {
  return parseUnits(dollars, USD_DECIMALS)
}

/** Dollars of one token, from millionths of a dollar and raw units. The tables compute the same ratio to the last bit. */
export function usdPrice(usdMicros: bigint, units: bigint, decimals: number): number {
  return fromRatio(sizeOf(usdMicros) / sizeOf(units), decimals)
}

/** Dollars of one token, from millionths of a dollar a raw unit. Rises with the ratio, so that highest and lowest stay so. */
export function fromRatio(ratio: number, decimals: number): number {
  return decimals < USD_DECIMALS
    ? ratio / 10 ** (USD_DECIMALS - decimals)
    : ratio * Number(`1e${decimals - USD_DECIMALS}`)
}

/** Throws `no_usd_price` where no swap of the pool can have dollars. */
export function requireUsd({ network, pool }: Listing): void {
  if (pricedOn(network, pool.token0.address) || pricedOn(network, pool.token1.address)) return
  throw new Problem(
    'no_usd_price',
    `Neither token of ${pool.id} on ${network.name} has a price in dollars. Ask with price=execution or price=spot.`,
  )
}

function pricedOn(network: Network, address: string): boolean {
  const role = trustedToken(network, address === NATIVE_CURRENCY ? network.wrappedNative.toLowerCase() : address)?.role
  return role === 'stablecoin' || role === 'priced'
}
