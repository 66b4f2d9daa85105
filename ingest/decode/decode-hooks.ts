/**
 * Logs of v4 hooks that say what they take or give, as OpenZeppelin's `IHookEvents` has them; each hook emits its own.
 *
 *   HookSwap(bytes32 indexed poolId, address indexed sender, int128 amount0, int128 amount1, uint128 hookLPfeeAmount0, uint128 hookLPfeeAmount1)
 *   HookFee(bytes32 indexed poolId, address indexed sender, uint128 feeAmount0, uint128 feeAmount1)
 *
 * HookSwap comes before the pool's Swap, HookFee after it, or after a change of liquidity. `sender` is that of the Swap: who called the PoolManager.
 * A trade of 1,000 USDC for 0.5 WETH by a hook on `BaseCustomCurve`, with a fee of 0.1 %:
 *
 *   word 0  …3b9aca00           amount0           1,000 USDC. The interface says positive for input, negative for output; its own hooks
 *   word 1  …06f05b59d3b20000   amount1           0.5 WETH    write both positive
 *   word 2  …0f4240             hookLPfeeAmount0  1 USDC: the fee is of the input
 *   word 3  0                   hookLPfeeAmount1
 */
import type { Address } from 'viem'
import type { PoolId } from '../model/pool.ts'
import type { RpcLog } from '../rpc/rpc.ts'
import { invalid } from './decode-v3.ts'
import type { Decoded } from './event.ts'
import { address, int, isWord, isWords, uint } from './word.ts'

export const HOOK_TOPICS = {
  hookSwap: '0x365f10e9e7ce45d7acfd986c42e0b666f8af282e440e6dafc78c1f2b2f786760',
  hookFee: '0x444083dce778da1269b63671912c00569a2a58fa85827911902301f91793ffd7',
} as const

/** Decodes a log with one of `HOOK_TOPICS`. */
export function decodeHookEvent(log: RpcLog): Decoded {
  const [topic, id, second] = log.topics
  const isSwap = topic === HOOK_TOPICS.hookSwap
  const event = isSwap ? 'HookSwap' : 'HookFee'
  if (log.topics.length !== 3 || !isWord(id) || !isWord(second) || !isWords(log.data, isSwap ? 4 : 2))
    return invalid(event, log)
  const by = {
    pool: id.toLowerCase() as PoolId,
    hook: log.address.toLowerCase() as Address,
    sender: address(second, 0),
  }
  const [fee0, fee1] = isSwap ? [uint(log.data, 2), uint(log.data, 3)] : [uint(log.data, 0), uint(log.data, 1)]
  if (!isUint128(fee0) || !isUint128(fee1)) return invalid(event, log)
  if (!isSwap) return { kind: 'hook-fee', ...by, amount0: fee0, amount1: fee1 }
  const [amount0, amount1] = [int(log.data, 0), int(log.data, 1)]
  if (!isInt128(amount0) || !isInt128(amount1)) return invalid(event, log)
  return { kind: 'hook-swap', ...by, amount0, amount1, fee0, fee1 }
}

function isUint128(value: bigint): boolean {
  return value < 1n << 128n
}

function isInt128(value: bigint): boolean {
  return BigInt.asIntN(128, value) === value
}
