/** Uniswap v3, and the proof of a pool that forks with the same factory share. Its events are decoded by `decode-v3.ts`. */
import { parseAbi } from 'viem'
import { isFee, type PoolProof, type Venue } from './venue.ts'

export const UNISWAP_PROOF: PoolProof = {
  abi: parseAbi([
    'function token0() view returns (address)',
    'function token1() view returns (address)',
    'function fee() view returns (uint24)',
    'function getPool(address, address, uint24) view returns (address)',
  ]),
  parts: ['fee'],
  getPool: 'getPool',
  keyParts: 1,
  feeOf: ([fee]) => (isFee(fee) ? fee : undefined),
}

export const uniswap: Venue = { name: 'uniswap', topics: [], proof: UNISWAP_PROOF }
