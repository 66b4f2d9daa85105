/**
 * The tick spacing of a pool, which the tables do not have: it says where the words of its bitmap end, and so where the loop of a swap rounds.
 * Without it an amount may differ from a swap's by one raw unit for each such place, one in 256 spacings.
 */
import { encodeAbiParameters, keccak256, parseAbiParameters, zeroAddress } from 'viem'
import type { Pool } from '../../../ingest/model/pool.ts'
import { venueOf } from '../../../ingest/model/venue.ts'

/** By the fee in hundredths of a bip, for factories where the fee determines the spacing. */
const BY_FEE: Readonly<Record<number, number>> = {
  100: 1,
  200: 4,
  300: 6,
  400: 8,
  500: 10,
  2500: 50,
  3000: 60,
  10000: 200,
}
const FEE_VENUES: readonly string[] = ['uniswap', 'sushi', 'pancake']
/** Spacings that makers of v4 pools choose, beside the one that Uniswap's interface derives from a fee. */
const USUAL = [1, 2, 4, 5, 6, 8, 10, 20, 25, 30, 40, 50, 60, 100, 120, 200, 400, 500, 1_000, 2_000]

const KEY = parseAbiParameters('address, address, uint24, int24, address')

/** Undefined where it is not known. The id of a v4 pool without hooks proves it: it is the hash of the pool's key. */
export function tickSpacingOf(pool: Pool): number | undefined {
  if (pool.protocol === 'dex-v3') return FEE_VENUES.includes(venueOf(pool)) ? BY_FEE[pool.fee] : undefined
  const derived = Math.max(1, Math.round((2 * pool.fee) / 100))
  return [...USUAL, ...(derived < 2 ** 15 ? [derived] : [])].find((spacing) => idOf(pool, spacing) === pool.id)
}

function idOf({ token0, token1, fee }: Pool, spacing: number) {
  return keccak256(encodeAbiParameters(KEY, [token0.address, token1.address, fee, spacing, zeroAddress]))
}
