/**
 * Algebra of Camelot and QuickSwap: one pool for two tokens, whose fee changes. V1 and Integral have Uniswap v3's Swap; the newest Integral adds the
 * two fees of a plugin to it, an older one emits them before it.
 *
 *   Fee(uint16 fee)                                    V1, Integral: from now on
 *   Fee(uint16 feeZtO, uint16 feeOtZ)                  V1.9: from now on, where the taker pays token0, and where token1
 *   SwapFee(address indexed sender, uint24 overrideFee, uint24 pluginFee)   Integral: of the swap that follows in the same transaction
 *   Swap(…, int24 tick, uint24 overrideFee, uint24 pluginFee)               Integral
 *
 * A plugin may replace the pool's fee for one swap, and add a fee of its own. Pools of a custom deployer are another kind and not read.
 */
import { type Address, parseAbi } from 'viem'
import { decodeSwap, invalid } from '../decode/decode-v3.ts'
import type { Decoded } from '../decode/event.ts'
import { isWords, uint24 } from '../decode/word.ts'
import { DYNAMIC_FEE } from '../model/pool.ts'
import type { RpcLog } from '../rpc/rpc.ts'
import type { Venue } from './venue.ts'

/** V1.9 has eight words, with a fee for each direction; V1 seven, Integral six. */
const BY_DIRECTION = parseAbi([
  'function globalState() view returns (uint256, int256, uint256 feeZtO, uint256 feeOtZ, uint256, uint256, uint256, uint256)',
])
const SINGLE = parseAbi([
  'function globalState() view returns (uint256, int256, uint256 fee, uint256, uint256, uint256)',
])

export const ALGEBRA_TOPICS = {
  fee: '0x598b9f043c813aa6be3426ca60d1c65d17256312890be5118dab55b0775ebe2a',
  feeByDirection: '0x8a89de70856bccec096661388f305b9a75f5f65cb0d8a0e1e803c39dabedb57f',
  swapFee: '0x9443903d84c9719611bd4bba871daaf18a3950d00d5d78b1a2fa701f76df54ff',
  swap: '0x121cb44ee54098b1a04743c487e7460d8dd429b27f88b1f4d4767396e1a59f79',
} as const

export const algebra: Venue = {
  name: 'algebra',
  topics: Object.values(ALGEBRA_TOPICS),
  decode,
  swap: { topic: ALGEBRA_TOPICS.swap, words: 7, hasPluginFees: true },
  proof: {
    abi: parseAbi([
      'function token0() view returns (address)',
      'function token1() view returns (address)',
      'function poolByPair(address, address) view returns (address)',
    ]),
    parts: [],
    getPool: 'poolByPair',
    keyParts: 0,
    feeOf: () => DYNAMIC_FEE,
  },
  eventFees: {
    topics: [ALGEBRA_TOPICS.fee, ALGEBRA_TOPICS.feeByDirection],
    decode,
    functions: [
      { abi: BY_DIRECTION, functionName: 'globalState', feesOf: ([, , one, other]) => [Number(one), Number(other)] },
      { abi: SINGLE, functionName: 'globalState', feesOf: ([, , fee]) => [Number(fee), Number(fee)] },
    ],
  },
}

function decode(log: RpcLog): Decoded {
  const { topics, data } = log
  const pool = log.address.toLowerCase() as Address
  switch (topics[0]) {
    case ALGEBRA_TOPICS.fee:
      if (topics.length !== 1 || !isWords(data, 1)) return invalid('Algebra Fee', log)
      return { kind: 'fee', pool, fees: [uint24(data, 0), uint24(data, 0)] }
    case ALGEBRA_TOPICS.feeByDirection:
      if (topics.length !== 1 || !isWords(data, 2)) return invalid('Algebra Fee by direction', log)
      return { kind: 'fee', pool, fees: [uint24(data, 0), uint24(data, 1)] }
    case ALGEBRA_TOPICS.swapFee:
      if (topics.length !== 2 || !isWords(data, 2)) return invalid('Algebra SwapFee', log)
      return { kind: 'plugin-fee', pool, override: uint24(data, 0), added: uint24(data, 1) }
    default: {
      const swap = decodeSwap(log, 7, 'Algebra Swap')
      return swap.kind === 'swap' ? { ...swap, plugin: { override: uint24(data, 5), added: uint24(data, 6) } } : swap
    }
  }
}
