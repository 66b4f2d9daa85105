/** Tables with a market in them, written by the aggregator's own flush. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Address, Hex } from 'viem'
import { OpenCandles } from '../../aggregator/candles/open-candles.ts'
import { acquireEpoch } from '../../aggregator/candles/writer-epoch.ts'
import { finishInsert, recordFlush, startFlush } from '../../aggregator/write/flush.ts'
import type { BlockContent, RangeMessage } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { LiquidityChange, Pool, PoolBalance, PoolId, Token } from '../../ingest/model/pool.ts'
import type { Tick } from '../../ingest/model/tick.ts'
import { executionPrice, spotPrice } from '../../ingest/pricing/price.ts'

/** Writes a stretch of the chain; the last block is the tip. Call it again for later blocks. */
export function openStore(client: ClickHouseClient, network: NetworkName) {
  let offset = 0
  const open = new OpenCandles(0)
  const state = acquireEpoch(client, network).then((versions) => ({
    versions,
    open,
    history: undefined,
    horizon: () => 0,
  }))
  return async function store(blocks: readonly BlockContent[]): Promise<void> {
    const [first, last] = [blocks[0], blocks.at(-1)]
    if (first === undefined || last === undefined) return
    const message: RangeMessage = {
      kind: 'range',
      network,
      from: first.number,
      to: last.number,
      hash: last.hash,
      parentHash: hashOf(`parent ${last.number}`),
      timestamp: last.timestamp,
      blocks: blocks.map((block) => ({ ...block, ticks: inOrder(block.ticks), liquidity: inOrder(block.liquidity) })),
    }
    offset += 1
    const placed = [{ message, position: { generation: 1, offset }, parent: undefined }]
    const writer = await state
    const flush = await startFlush(client, network, placed, writer)
    await finishInsert(client, network, flush, writer)
    await recordFlush(client, network, flush, writer)
  }
}

/** Empty unless told otherwise. */
export function block(number: number, timestamp: number, more: Partial<BlockContent> = {}): BlockContent {
  return {
    number,
    hash: hashOf(`block ${number}`),
    timestamp,
    ticks: [],
    pools: [],
    liquidity: [],
    balances: [],
    ...more,
  }
}

/** 32 bytes that differ wherever the text does; not a real hash. */
export function hashOf(text: string): Hex {
  return `0x${Buffer.from(text).toString('hex').padEnd(64, '0').slice(0, 64)}`
}

/** A 20-byte address that starts with these digits. */
export function addressOf(digits: string): PoolId {
  return `0x${digits.padEnd(40, '0')}`
}

export type Swap = {
  pool: Pool
  logIndex: number
  /** Raw units, the taker's view. */
  amount0: bigint
  amount1: bigint
  sqrtPriceX96: bigint
  liquidity?: bigint
  poolTick?: number
  fee?: number
  usdMicros?: bigint
  sender?: Address
}

/** Priced as ingest prices it. */
export function tick(swap: Swap): Tick {
  const decimals = { decimals0: swap.pool.token0.decimals, decimals1: swap.pool.token1.decimals }
  const spot = spotPrice(swap.sqrtPriceX96, decimals)
  return {
    pool: swap.pool.id,
    logIndex: swap.logIndex,
    transactionHash: hashOf(`transaction of log ${swap.logIndex}`),
    amount0: swap.amount0,
    amount1: swap.amount1,
    sqrtPriceX96: swap.sqrtPriceX96,
    liquidity: swap.liquidity ?? 10n ** 18n,
    poolTick: swap.poolTick ?? 0,
    fee: swap.fee ?? swap.pool.fee,
    price: executionPrice(swap.amount0, swap.amount1, decimals) ?? spot,
    spotPrice: spot,
    amountUsdMicros: swap.usdMicros ?? 0n,
    ...(swap.sender && { sender: swap.sender }),
  }
}

export function poolOf(id: PoolId, token0: Token, token1: Token, more: Partial<Pool> = {}): Pool {
  return { id, protocol: 'dex-v3', token0, token1, fee: 500, initialSqrtPriceX96: 0n, ...more }
}

export function balance(pool: Pool, balance0: bigint, balance1: bigint): PoolBalance {
  return { pool: pool.id, balance0, balance1 }
}

export function liquidity(
  pool: Pool,
  logIndex: number,
  tickLower: number,
  tickUpper: number,
  liquidityDelta: bigint,
): LiquidityChange {
  return { pool: pool.id, logIndex, tickLower, tickUpper, liquidityDelta }
}

/** As a listener sends them. */
function inOrder<Log extends { logIndex: number }>(logs: readonly Log[]): Log[] {
  return [...logs].sort((a, b) => a.logIndex - b.logIndex)
}
