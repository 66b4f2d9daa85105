/**
 * PancakeSwap v3: Uniswap v3 with two more words in a Swap, the protocol's fees of this swap in raw units.
 *
 *   Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick,
 *     uint128 protocolFeesToken0, uint128 protocolFeesToken1)
 */
import { decodeSwap } from '../decode/decode-v3.ts'
import { UNISWAP_PROOF } from './uniswap.ts'
import type { Venue } from './venue.ts'

const SWAP = '0x19b47279256b2a23a1665c810c8d55a1758940ee09377d4f8d26497a3577dc83'

export const pancake: Venue = {
  name: 'pancake',
  topics: [SWAP],
  decode: (log) => decodeSwap(log, 7, 'PancakeSwap Swap'),
  swap: { topic: SWAP, words: 7 },
  proof: UNISWAP_PROOF,
}
