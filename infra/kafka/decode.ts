/** Bytes into a message: see `wire-format.ts`. */
import type { BlockContent } from '../../ingest/model/message.ts'
import type { LiquidityChange, Pool, PoolBalance } from '../../ingest/model/pool.ts'
import type { Tick } from '../../ingest/model/tick.ts'
import { fromJsonBigint } from './bigint-json.ts'
import { UnreadableMessage } from './errors.ts'
import { type AnyMessage, KINDS, VERSION, type Wire } from './wire-format.ts'

/** In `ticks.sender`. */
const UNKNOWN = -1

/** Throws `UnreadableMessage`. */
export function decode(bytes: Buffer): AnyMessage {
  const wire = parse(bytes)
  const next = { tick: 0, pool: 0, liquidity: 0, balance: 0 }
  const blocks = wire.blocks.number.map(
    (number, block): BlockContent => ({
      number,
      hash: at(wire.blocks.hash, block),
      timestamp: at(wire.blocks.timestamp, block),
      ticks: times(at(wire.blocks.ticks, block), () => tickAt(wire, next.tick++)),
      pools: times(at(wire.blocks.pools, block), () => poolAt(wire, next.pool++)),
      liquidity: times(at(wire.blocks.liquidity, block), () => liquidityAt(wire, next.liquidity++)),
      balances: times(at(wire.blocks.balances, block), () => balanceAt(wire, next.balance++)),
    }),
  )
  const { head } = wire
  if (!KINDS.has(head.kind)) throw new UnreadableMessage(`it is of no kind that is known: ${JSON.stringify(head.kind)}`)
  if (head.kind === 'block') return { ...head, ...at(blocks, 0) }
  if (head.kind === 'restatement') return { ...head, pools: head.pools ?? undefined, blocks }
  return { ...head, parentHash: head.parentHash ?? undefined, blocks }
}

function parse(bytes: Buffer): Wire {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString())
  } catch (cause) {
    throw new UnreadableMessage(`it is not JSON; it begins with ${JSON.stringify(bytes.toString('latin1', 0, 40))}`, {
      cause,
    })
  }
  const version = typeof value === 'object' && value !== null && 'v' in value ? value.v : undefined
  if (version !== VERSION) {
    throw new UnreadableMessage(
      `its format has version ${JSON.stringify(version)}, this program knows ${VERSION}. Run the version that wrote it, or a later one`,
    )
  }
  // The version is the promise of the shape: only `encode` writes it.
  return value as Wire
}

function tickAt({ ticks, poolIds, senders = [] }: Wire, row: number): Tick {
  const sender = ticks.sender?.[row] ?? UNKNOWN
  return {
    pool: at(poolIds, at(ticks.pool, row)),
    logIndex: at(ticks.logIndex, row),
    transactionHash: at(ticks.transactionHash, row),
    amount0: fromJsonBigint(at(ticks.amount0, row)),
    amount1: fromJsonBigint(at(ticks.amount1, row)),
    sqrtPriceX96: fromJsonBigint(at(ticks.sqrtPriceX96, row)),
    liquidity: fromJsonBigint(at(ticks.liquidity, row)),
    poolTick: at(ticks.poolTick, row),
    fee: at(ticks.fee, row),
    price: at(ticks.price, row),
    spotPrice: at(ticks.spotPrice, row),
    amountUsdMicros: fromJsonBigint(at(ticks.amountUsdMicros, row)),
    ...(sender !== UNKNOWN && { sender: at(senders, sender) }),
  }
}

function poolAt({ pools }: Wire, row: number): Pool {
  const pool = at(pools, row)
  return { ...pool, initialSqrtPriceX96: fromJsonBigint(pool.initialSqrtPriceX96) }
}

function liquidityAt({ liquidity, poolIds }: Wire, row: number): LiquidityChange {
  return {
    pool: at(poolIds, at(liquidity.pool, row)),
    logIndex: at(liquidity.logIndex, row),
    tickLower: at(liquidity.tickLower, row),
    tickUpper: at(liquidity.tickUpper, row),
    liquidityDelta: fromJsonBigint(at(liquidity.liquidityDelta, row)),
  }
}

function balanceAt({ balances, poolIds }: Wire, row: number): PoolBalance {
  return {
    pool: at(poolIds, at(balances.pool, row)),
    balance0: fromJsonBigint(at(balances.balance0, row)),
    balance1: fromJsonBigint(at(balances.balance1, row)),
  }
}

function times<Row>(count: number, row: () => Row): Row[] {
  const rows: Row[] = []
  for (let index = 0; index < count; index++) rows.push(row())
  return rows
}

function at<Value>(column: readonly Value[], row: number): Value {
  const value = column[row]
  if (value === undefined) throw new UnreadableMessage(`it has fewer rows than it says; row ${row} is missing`)
  return value
}
