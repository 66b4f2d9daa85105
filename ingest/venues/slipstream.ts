/**
 * Slipstream of Aerodrome and Velodrome: the events of Uniswap v3, and pools by tick spacing in place of the fee. The factory may change the fee
 * from block to block, and no event has it: a pool keeps the fee that it answers when it is met.
 */
import { parseAbi } from 'viem'
import { isFee, type Venue } from './venue.ts'

export const slipstream: Venue = {
  name: 'slipstream',
  topics: [],
  proof: {
    abi: parseAbi([
      'function token0() view returns (address)',
      'function token1() view returns (address)',
      'function tickSpacing() view returns (int24)',
      'function fee() view returns (uint24)',
      'function getPool(address, address, int24) view returns (address)',
    ]),
    parts: ['tickSpacing', 'fee'],
    getPool: 'getPool',
    keyParts: 1,
    // The factory asks a module for it, which may fail: the pool is one all the same.
    feeOf: ([, fee]) => (isFee(fee) ? fee : 0),
  },
}
