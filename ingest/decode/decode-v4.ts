/**
 * Uniswap v4 logs, all emitted by the one PoolManager; the pool is the first topic.
 *
 *   Swap(bytes32 indexed id, address indexed sender, int128 amount0, int128 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint24 fee)
 *
 * Ethereum block 21925176, transaction 0x81728f20…, native ETH/USDC 0.05 %:
 *
 *   word 0  amount0  +1.0596 ETH: the swapper received it. The swapper's view already, so we keep the sign (v3 has the opposite one)
 *   word 1  amount1  −2549.977984 USDC: the swapper paid it
 *   word 2  sqrtPriceX96 after the swap
 *   word 3  in-range liquidity after the swap
 *   word 4  tick after the swap
 *   word 5  fee that this swap paid, in hundredths of a bip; with hooks or a protocol fee not the pool key's
 */
import type { Address } from 'viem'
import type { PoolId } from '../model/pool.ts'
import type { RpcLog } from '../rpc/rpc.ts'
import { invalid } from './decode-v3.ts'
import type { Decoded } from './event.ts'
import type { SwapLayout } from './swap-rows.ts'
import { swapWords } from './swap-words.ts'
import { address, int, int24, isWord, uint, uint24, wordCount } from './word.ts'

export const V4_TOPICS = {
  swap: '0x40e9cecb9f5f1f1c5b9c97dec2917b7ee92e57ba5563708daca94dd84ad7112f',
  initialize: '0xdd466e674ea557f56295e2d0218a125ea4b4f0f6f3307b95f85e6110838d6438',
  modifyLiquidity: '0xf208f4912782fd25c7f114ca3723a2d5dd6f3bcc3ac8db5af63baa85f711d5ec',
} as const

export const V4_SWAP: SwapLayout = { topic: V4_TOPICS.swap, words: 6, isV4: true }

/** Undefined where the log is no v4 event. */
export function decodeV4(log: RpcLog, poolManager: Address): Decoded | undefined {
  const [topic, id, second, third] = log.topics
  // Most logs are v3's and need no comparison of addresses.
  if (!isV4Topic(topic) || !id || log.address.toLowerCase() !== poolManager.toLowerCase()) return undefined
  const pool = id.toLowerCase() as PoolId
  const logIndex = Number(log.logIndex)
  switch (topic) {
    case V4_TOPICS.swap: {
      const words = swapWords(log.data, 6)
      if (log.topics.length !== 3 || !isWord(second) || !words) return invalid('v4 Swap', log)
      return {
        kind: 'swap',
        pool,
        logIndex,
        transactionHash: log.transactionHash,
        sender: address(second, 0),
        amount0: words.amount0,
        amount1: words.amount1,
        sqrtPriceX96: words.sqrtPriceX96,
        liquidity: words.liquidity,
        poolTick: words.poolTick,
        fee: uint24(log.data, 5),
      }
    }
    case V4_TOPICS.initialize:
      // Data: fee, tickSpacing, hooks, sqrtPriceX96, tick.
      if (!second || !third || wordCount(log.data) !== 5) return invalid('v4 Initialize', log)
      return {
        kind: 'created',
        pool,
        currency0: address(second, 0),
        currency1: address(third, 0),
        fee: uint24(log.data, 0),
        sqrtPriceX96: uint(log.data, 3),
        hooks: address(log.data, 2),
      }
    case V4_TOPICS.modifyLiquidity:
      // Data: tickLower, tickUpper, liquidityDelta, salt.
      if (log.topics.length !== 3 || !second || wordCount(log.data) !== 4) return invalid('v4 ModifyLiquidity', log)
      return {
        kind: 'liquidity',
        pool,
        logIndex,
        sender: address(second, 0),
        tickLower: int24(log.data, 0),
        tickUpper: int24(log.data, 1),
        liquidityDelta: int(log.data, 2),
      }
    default:
      return undefined
  }
}

function isV4Topic(topic: string | undefined): boolean {
  return topic === V4_TOPICS.swap || topic === V4_TOPICS.initialize || topic === V4_TOPICS.modifyLiquidity
}
