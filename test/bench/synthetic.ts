/** A chain that is made up as it is read: so many swaps a block over so many pools, the hottest of which has a tenth of them. */

import type { Hash } from 'viem'
import type { BlockContent, BlockMessage, RangeMessage } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Pool, PoolId } from '../../ingest/model/pool.ts'
import type { Tick } from '../../ingest/model/tick.ts'
import { executionPrice, spotPrice } from '../../ingest/pricing/price.ts'

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

/** The same number gives the same block. Values have all the digits that those of a chain have, so that they take as much room. */
export function blockAt(number: number, { swapsPerBlock, pools, firstTime }: Shape): BlockContent {
  const ticks: Tick[] = []
  for (let index = 0; index < swapsPerBlock; index++) {
    const place = number * swapsPerBlock + index
    const random = scramble(place)
    const pool = random % 10 === 0 ? 0 : (random >>> 4) % pools
    const [more, much, noise] = [scramble(~place), scramble(random), scramble(~random)]
    const level = levelOf(number, pool) + (more % 1_000) / 400
    const poolTick = Math.floor(level)
    const sqrtPriceX96 =
      (BigInt(Math.round(1.0001 ** (level / 2) * 2 ** 52)) << 44n) + ((BigInt(more) << 26n) ^ BigInt(much))
    const micros = Math.floor(Math.exp((much / 2 ** 32) * 11.5) * 1e6)
    const amount0 = BigInt(random & 16 ? micros : -micros)
    const amount1 = (-amount0 * BigInt(Math.round(1.0001 ** level * 0.9995 * 1e6)) + BigInt(noise)) / 1_000_000n
    const decimals = { decimals0: 6, decimals1: 18 }
    const spot = spotPrice(sqrtPriceX96, decimals)
    ticks.push({
      pool: poolId(pool),
      logIndex: index * 3,
      transactionHash: hash(place, 'transaction'),
      amount0,
      amount1,
      sqrtPriceX96,
      // Swaps between the same two initialised ticks see the same.
      liquidity: 10n ** 19n + BigInt(scramble(pool * 1_000_003 + Math.floor(poolTick / 10))) * 2_147_483_647n,
      poolTick,
      // Routers, and the contracts of those who trade by program.
      sender: `0x${(noise % 100).toString(16).padStart(4, '0').repeat(10)}`,
      fee: 500,
      price: executionPrice(amount0, amount1, decimals) ?? spot,
      spotPrice: spot,
      amountUsdMicros: BigInt(micros),
    })
  }
  const timestamp = firstTime + number * SECONDS_A_BLOCK
  return {
    number,
    hash: hash(number, 'block'),
    timestamp,
    ticks,
    pools: number === 1 ? poolsOf(pools) : [],
    liquidity: [],
    balances: [],
  }
}

export function blockMessage(number: number, shape: Shape): BlockMessage {
  const { network } = shape
  return { kind: 'block', network, finalized: 0, parentHash: hash(number - 1, 'block'), ...blockAt(number, shape) }
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
    parentHash: hash(from - 1, 'block'),
    blocks,
  }
}

/** Where a pool's price has gone by then, as a tick: in waves, each pool in its own. */
function levelOf(number: number, pool: number): number {
  return 199_000 + 300 * Math.sin(number / 20_000 + pool) + 80 * Math.sin(number / 1_500 + 2 * pool)
}

const WORDS = [0, 1, 2, 3, 4, 5, 6, 7]

/** No two of a kind are the same: the mix maps no two numbers to one, so the first word is enough. */
function hash(number: number, of: 'block' | 'transaction'): Hash {
  const salt = of === 'block' ? 0 : 0x5bd1e995
  const words = WORDS.map((word) =>
    scramble((number + salt) ^ (word << 28))
      .toString(16)
      .padStart(8, '0'),
  )
  return `0x${words.join('')}`
}

/** A 32-bit mix (splitmix32). */
function scramble(seed: number): number {
  let z = (seed + 0x9e3779b9) | 0
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
  return (z ^ (z >>> 15)) >>> 0
}
