/**
 * Uniswap v3 logs, emitted by each pool (`PoolCreated` by the factory).
 *
 *   Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)
 *
 * Ethereum block 18937382, log 169, transaction 0x0bb5e0dc49ae0b5a1949beabadc64522dd5615415a168650a3b592a84ae5ee05, USDC/WETH 0.05 %:
 *
 *   word 0  ffff…ea5d662   amount0        −22.68 USDC: the pool paid them out. Pool's view, so we negate: the taker received
 *   word 1  …2386f26fc10000  amount1      +0.01 WETH: the pool took it in
 *   word 2  …51fdf2fd9b2526872a9b723450f2  sqrtPriceX96 after the swap
 *   word 3  …acd43e0e7cf808c5  in-range liquidity after the swap
 *   word 4  …030985        tick after the swap (199 045)
 */
import type { Address } from 'viem'
import { copyOf } from '../lib/hex-bytes.ts'
import type { RpcLog } from '../rpc/rpc.ts'
import type { Decoded } from './event.ts'
import type { SwapLayout } from './swap-rows.ts'
import { swapWords } from './swap-words.ts'
import { address, int24, isWord, uint, uint24, wordCount } from './word.ts'

export const V3_TOPICS = {
  swap: '0xc42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67',
  poolCreated: '0x783cca1c0412dd0d695e784568c96da2e9c22ff989357a2e8b1d9b2b4e6b7118',
  initialize: '0x98636036cb66a9c19a37435efc1e90142190214e8abeb821bdba3f2990dd4c95',
  mint: '0x7a53080ba414158be7ec69b987b5fb7d07dee101fe85488f0853ae16239d0bde',
  burn: '0x0c396cd989a39f4459b5fa1aed6a9a8dcdbc45908acfd67e028cd568da98982c',
} as const

export const V3_SWAP: SwapLayout = { topic: V3_TOPICS.swap, words: 5 }

/** Undefined where the log is no v3 event. */
export function decodeV3(log: RpcLog, factory: Address): Decoded | undefined {
  const [topic, first, second, third] = log.topics
  // Nearly every log is a Swap.
  if (topic === V3_TOPICS.swap) return decodeSwap(log, 5, 'v3 Swap')
  const pool = log.address.toLowerCase() as Address
  const logIndex = Number(log.logIndex)
  switch (topic) {
    case V3_TOPICS.poolCreated:
      // Forks emit the same event.
      if (pool !== factory.toLowerCase()) return undefined
      if (log.topics.length !== 4 || !first || !second || !third || wordCount(log.data) !== 2) {
        return invalid('v3 PoolCreated', log)
      }
      return {
        kind: 'created',
        // It is kept, and a slice would keep the whole answer.
        pool: copyOf(address(log.data, 1)),
        currency0: address(first, 0),
        currency1: address(second, 0),
        fee: uint24(third, 0),
        sqrtPriceX96: 0n,
      }
    case V3_TOPICS.initialize:
      if (wordCount(log.data) !== 2) return invalid('v3 Initialize', log)
      return { kind: 'initialized', pool, sqrtPriceX96: uint(log.data, 0) }
    case V3_TOPICS.mint:
    case V3_TOPICS.burn: {
      const isMint = topic === V3_TOPICS.mint
      if (log.topics.length !== 4 || !second || !third || wordCount(log.data) !== (isMint ? 4 : 3)) {
        return invalid(isMint ? 'v3 Mint' : 'v3 Burn', log)
      }
      // Mint's data starts with the sender, Burn's does not.
      const amount = uint(log.data, isMint ? 1 : 0)
      return {
        kind: 'liquidity',
        pool,
        logIndex,
        tickLower: int24(second, 0),
        tickUpper: int24(third, 0),
        liquidityDelta: isMint ? amount : -amount,
      }
    }
    default:
      return undefined
  }
}

/** A Swap of Uniswap v3, or of a fork with more words after its five. */
export function decodeSwap(log: RpcLog, wordsOfData: 5 | 7, event: string): Decoded {
  const [, sender] = log.topics
  const words = swapWords(log.data, wordsOfData)
  if (log.topics.length !== 3 || !isWord(sender) || !words) return invalid(event, log)
  return {
    kind: 'swap',
    pool: log.address.toLowerCase() as Address,
    logIndex: Number(log.logIndex),
    transactionHash: log.transactionHash,
    sender: address(sender, 0),
    amount0: -words.amount0,
    amount1: -words.amount1,
    sqrtPriceX96: words.sqrtPriceX96,
    liquidity: words.liquidity,
    poolTick: words.poolTick,
    fee: undefined,
  }
}

export function invalid(event: string, log: RpcLog): Decoded {
  return {
    kind: 'broken',
    reason: `${event} with ${log.topics.length} topics and ${log.data.length / 2 - 1} bytes of data`,
  }
}
