/** A message into bytes: see `wire-format.ts`. */
import type { Address } from 'viem'
import { ticksPerBlock } from '../../../ingest/columns/tick-columns.ts'
import { blocksOf } from '../../../ingest/model/message.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import type { HookAmounts, Tick } from '../../../ingest/model/tick.ts'
import { toJsonBigint } from './bigint-json.ts'
import { hookAmountsOfRows, type Numbered, wireTicks } from './encode-columns.ts'
import { finite } from './finite.ts'
import { type AnyMessage, VERSION, type Wire, type WireHead } from './wire-format.ts'

export function encode(message: AnyMessage): Buffer {
  const blocks = blocksOf(message)
  const columns = message.kind === 'restatement' ? message.columns : undefined
  // Blocks over columns would build their ticks.
  const ticks = columns ? [] : blocks.flatMap((block) => block.ticks)
  const liquidity = blocks.flatMap((block) => block.liquidity)
  const balances = blocks.flatMap((block) => block.balances)
  const pools = numbered<PoolId>()
  const senders = numbered<Address>()
  const indexOf = ({ pool }: { pool: PoolId }): number => pools.numberOf(pool)
  const wire: Wire = {
    v: VERSION,
    head: headOf(message),
    poolIds: pools.values,
    senders: senders.values,
    blocks: {
      number: blocks.map((block) => block.number),
      hash: blocks.map((block) => block.hash),
      timestamp: blocks.map((block) => block.timestamp),
      ticks: columns ? ticksPerBlock(blocks, columns) : blocks.map((block) => block.ticks.length),
      pools: blocks.map((block) => block.pools.length),
      liquidity: blocks.map((block) => block.liquidity.length),
      balances: blocks.map((block) => block.balances.length),
    },
    ticks: columns ? wireTicks(columns, pools, senders) : wireTicksOf(ticks, pools, senders),
    ...wireHookAmounts(columns ? hookAmountsOfRows(columns) : ticks.map(({ hookAmounts }) => hookAmounts)),
    pools: blocks.flatMap((block) =>
      block.pools.map((pool) => ({ ...pool, initialSqrtPriceX96: toJsonBigint(pool.initialSqrtPriceX96) })),
    ),
    liquidity: {
      pool: liquidity.map(indexOf),
      logIndex: liquidity.map((change) => change.logIndex),
      tickLower: liquidity.map((change) => change.tickLower),
      tickUpper: liquidity.map((change) => change.tickUpper),
      liquidityDelta: liquidity.map((change) => toJsonBigint(change.liquidityDelta)),
    },
    balances: {
      pool: balances.map(indexOf),
      balance0: balances.map((balance) => toJsonBigint(balance.balance0)),
      balance1: balances.map((balance) => toJsonBigint(balance.balance1)),
    },
  }
  return Buffer.from(JSON.stringify(wire))
}

function wireTicksOf(ticks: readonly Tick[], pools: Numbered<PoolId>, senders: Numbered<Address>): Wire['ticks'] {
  return {
    pool: ticks.map(({ pool }) => pools.numberOf(pool)),
    logIndex: ticks.map((tick) => tick.logIndex),
    transactionHash: ticks.map((tick) => tick.transactionHash),
    amount0: ticks.map((tick) => toJsonBigint(tick.amount0)),
    amount1: ticks.map((tick) => toJsonBigint(tick.amount1)),
    sqrtPriceX96: ticks.map((tick) => toJsonBigint(tick.sqrtPriceX96)),
    liquidity: ticks.map((tick) => toJsonBigint(tick.liquidity)),
    poolTick: ticks.map((tick) => tick.poolTick),
    fee: ticks.map((tick) => tick.fee),
    price: ticks.map((tick) => finite(tick.price, tick)),
    spotPrice: ticks.map((tick) => finite(tick.spotPrice, tick)),
    amountUsdMicros: ticks.map((tick) => toJsonBigint(tick.amountUsdMicros)),
    sender: ticks.map(({ sender }) => (sender === undefined ? -1 : senders.numberOf(sender))),
  }
}

function wireHookAmounts(ofTicks: readonly (HookAmounts | undefined)[]): Pick<Wire, 'hookAmounts'> {
  const hooked = ofTicks.flatMap((amounts, tick) => (amounts ? [{ tick, ...amounts }] : []))
  if (hooked.length === 0) return {}
  return {
    hookAmounts: {
      tick: hooked.map(({ tick }) => tick),
      amount0: hooked.map(({ amount0 }) => toJsonBigint(amount0)),
      amount1: hooked.map(({ amount1 }) => toJsonBigint(amount1)),
    },
  }
}

/** Each distinct value once, numbered from 0. */
function numbered<Value>(): { values: Value[]; numberOf(value: Value): number } {
  const values: Value[] = []
  const numbers = new Map<Value, number>()
  return {
    values,
    numberOf(value) {
      const known = numbers.get(value)
      if (known !== undefined) return known
      numbers.set(value, values.length)
      return values.push(value) - 1
    },
  }
}

function headOf(message: AnyMessage): WireHead {
  if (message.kind === 'block') {
    const { network, parentHash, finalized } = message
    return { kind: 'block', network, parentHash, finalized }
  }
  if (message.kind === 'restatement') {
    const { blocks: _, columns: __, pools, ...head } = message
    return { ...head, pools: pools ? [...pools] : null }
  }
  const { network, from, to, hash, parentHash = null, timestamp, finalized } = message
  return {
    kind: 'range',
    network,
    from,
    to,
    hash,
    parentHash,
    timestamp,
    ...(finalized !== undefined && { finalized }),
  }
}
