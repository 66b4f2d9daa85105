/** A chain that is made up as it is read: so many swaps a block over so many pools, the hottest of which has a tenth of them. */

import type { Hash } from 'viem'
import type { BlockContent, BlockMessage, RangeMessage } from '../../ingest/message.ts'
import type { NetworkName } from '../../ingest/network.ts'
import type { Pool, PoolId } from '../../ingest/pool.ts'
import { executionPrice, spotPrice } from '../../ingest/price.ts'
import type { Tick } from '../../ingest/tick.ts'

export const SECONDS_A_BLOCK = 2

export function poolId(index: number): PoolId {
  return `0x${(index + 1).toString(16).padStart(4, '0').repeat(10)}`
}

export function poolsOf(count: number): Pool[] {
  const token = (digits: string, symbol: string, decimals: number) => ({
    address: `0x${digits.repeat(20)}` as const,
    symbol,
    name: symbol,
    decimals,
  })
  return Array.from({ length: count }, (_, index) => ({
    id: poolId(index),
    protocol: 'dex-v3',
    token0: token('aa', 'USDC', 6),
    token1: token('bb', 'WETH', 18),
    fee: 500,
    initialSqrtPriceX96: 0n,
  }))
}

export type Shape = { network: NetworkName; swapsPerBlock: number; pools: number; firstTime: number }

/** The same number gives the same block. */
export function blockAt(number: number, { swapsPerBlock, pools, firstTime }: Shape): BlockContent {
  const ticks: Tick[] = []
  for (let index = 0; index < swapsPerBlock; index++) {
    const place = number * swapsPerBlock + index
    const random = scramble(place)
    const pool = random % 10 === 0 ? 0 : (random >>> 4) % pools
    const amount0 = BigInt(1_000_000 + (random % 90_000_000)) * (random & 1 ? 1n : -1n)
    const sqrtPriceX96 =
      1_655_790_000_000_000_000_000_000_000_000_000n + BigInt(random) * 1_000_000_000_000_000_000_000n
    const amount1 = (-amount0 * 436_781_234_567_890n) / 1_000_000n
    const decimals = { decimals0: 6, decimals1: 18 }
    const spot = spotPrice(sqrtPriceX96, decimals)
    ticks.push({
      pool: poolId(pool),
      logIndex: index * 3,
      transactionHash: hash(place, 'c'),
      amount0,
      amount1,
      sqrtPriceX96,
      liquidity: 13_000_000_000_000_000_000n + BigInt(random),
      poolTick: 199_000 + (random % 1_000),
      fee: 500,
      price: executionPrice(amount0, amount1, decimals) ?? spot,
      spotPrice: spot,
      amountUsdMicros: amount0 < 0n ? -amount0 : amount0,
    })
  }
  const timestamp = firstTime + number * SECONDS_A_BLOCK
  return { number, hash: hash(number, 'b'), timestamp, ticks, pools: [], liquidity: [], balances: [] }
}

export function blockMessage(number: number, shape: Shape): BlockMessage {
  const { network } = shape
  return { kind: 'block', network, finalized: 0, parentHash: hash(number - 1, 'b'), ...blockAt(number, shape) }
}

export function rangeMessage(from: number, to: number, shape: Shape): RangeMessage {
  const blocks = Array.from({ length: to - from + 1 }, (_, index) => blockAt(from + index, shape))
  const { hash: ofLast, timestamp } = blocks.at(-1) ?? blockAt(to, shape)
  return {
    kind: 'range',
    network: shape.network,
    from,
    to,
    hash: ofLast,
    timestamp,
    parentHash: hash(from - 1, 'b'),
    blocks,
  }
}

function hash(number: number, digit: string): Hash {
  return `0x${scramble(number).toString(16).padStart(8, '0').repeat(7)}${digit}${number.toString(16).padStart(7, '0')}`
}

/** A 32-bit mix (splitmix32). */
function scramble(seed: number): number {
  let z = (seed + 0x9e3779b9) | 0
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
  return (z ^ (z >>> 15)) >>> 0
}
