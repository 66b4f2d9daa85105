/** Bytes into a message: see `wire-format.ts`. Values are checked where they are stored, in `aggregator/write/validate-message.ts`. */
import type { BlockContent } from '../../../ingest/model/message.ts'
import type { LiquidityChange, Pool, PoolBalance, Token } from '../../../ingest/model/pool.ts'
import type { HookAmounts, Tick } from '../../../ingest/model/tick.ts'
import { fromJsonBigint } from './bigint-json.ts'
import { checkShape } from './check-shape.ts'
import {
  type AnyMessage,
  KINDS,
  type MessageKinds,
  UnreadableMessage,
  VERSION,
  type Wire,
  type WireHead,
} from './wire-format.ts'

/** In `ticks.sender`. */
const UNKNOWN = -1

/** Smaller messages are parsed as they are. */
const LARGE_BYTES = 2 * 1024 * 1024
const BYTES_PER_OBJECT = 50
const [QUOTE, BACKSLASH, BRACE, BRACKET] = [...Buffer.from('"\\{[')]

/** Throws `UnreadableMessage`, or another error where a field is of no type that it can be. */
export function decode(bytes: Buffer, kinds: MessageKinds = KINDS): AnyMessage {
  const wire = parse(bytes)
  const hooked = hookAmountsIn(wire)
  const next = { tick: 0, pool: 0, liquidity: 0, balance: 0 }
  const blocks = wire.blocks.number.map(
    (number, block): BlockContent => ({
      number,
      hash: at(wire.blocks.hash, block),
      timestamp: at(wire.blocks.timestamp, block),
      ticks: times(at(wire.blocks.ticks, block), () => tickAt(wire, next.tick++, hooked)),
      pools: times(at(wire.blocks.pools, block), () => poolAt(wire, next.pool++)),
      liquidity: times(at(wire.blocks.liquidity, block), () => liquidityAt(wire, next.liquidity++)),
      balances: times(at(wire.blocks.balances, block), () => balanceAt(wire, next.balance++)),
    }),
  )
  const { head } = wire
  if (!kinds.has(head.kind))
    throw new UnreadableMessage(`it is of no kind that belongs here: ${JSON.stringify(head.kind)?.slice(0, 40)}`)
  return messageOf(head, blocks)
}

/** Fields that no reader knows are left out. */
function messageOf(head: WireHead, blocks: readonly BlockContent[]): AnyMessage {
  if (head.kind === 'block') {
    const { kind, network, parentHash, finalized } = head
    const [content] = blocks
    if (!content || blocks.length > 1) throw new UnreadableMessage(`it is one block, and has ${blocks.length}`)
    return { kind, network, parentHash, finalized, ...content }
  }
  const { network, from, to, hash, timestamp } = head
  if (head.kind === 'restatement') {
    const { kind, job, pools, firstTimestamp } = head
    return { kind, network, job, pools: pools ?? undefined, from, to, firstTimestamp, timestamp, hash, blocks }
  }
  const { kind, parentHash, finalized } = head
  const final = finalized !== undefined && { finalized }
  return { kind, network, from, to, hash, parentHash: parentHash ?? undefined, timestamp, ...final, blocks }
}

function parse(bytes: Buffer): Wire {
  if (bytes.length > LARGE_BYTES && isCrowded(bytes)) throw new UnreadableMessage('it has too many lists and objects')
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
      `its format has version ${cut(version)}, this program knows ${VERSION}. Run the version that wrote it, or a later one`,
    )
  }
  checkShape(value)
  return value
}

/** Where they are so many that parsing would take many times the memory of the bytes. A pool, which has three, takes more bytes than `BYTES_PER_OBJECT` allows. */
function isCrowded(bytes: Buffer): boolean {
  let open = 0
  let isInText = false
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index]
    if (byte === QUOTE) isInText = !isInText
    else if (isInText && byte === BACKSLASH) index++
    else if (!isInText && (byte === BRACE || byte === BRACKET)) open++
  }
  return open > bytes.length / BYTES_PER_OBJECT
}

function cut(value: unknown): string | undefined {
  return typeof value === 'object' ? 'an object' : JSON.stringify(value)?.slice(0, 40)
}

/** By row of the ticks. */
function hookAmountsIn({ hookAmounts }: Wire): ReadonlyMap<number, HookAmounts> {
  const rows = new Map<number, HookAmounts>()
  for (const [index, tick] of hookAmounts?.tick.entries() ?? []) {
    const { amount0, amount1 } = hookAmounts ?? { amount0: [], amount1: [] }
    rows.set(tick, { amount0: fromJsonBigint(at(amount0, index)), amount1: fromJsonBigint(at(amount1, index)) })
  }
  return rows
}

function tickAt({ ticks, poolIds, senders = [] }: Wire, row: number, hooked: ReadonlyMap<number, HookAmounts>): Tick {
  const hookAmounts = hooked.get(row)
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
    ...(hookAmounts && { hookAmounts }),
  }
}

function poolAt({ pools }: Wire, row: number): Pool {
  const { id, protocol, venue, hooks, token0, token1, fee, initialSqrtPriceX96 } = at(pools, row)
  return {
    id,
    protocol,
    ...(venue !== undefined && { venue }),
    ...(hooks !== undefined && { hooks }),
    token0: tokenOf(token0),
    token1: tokenOf(token1),
    fee,
    initialSqrtPriceX96: fromJsonBigint(initialSqrtPriceX96),
  }
}

function tokenOf({ address, symbol, name, decimals }: Token): Token {
  return { address, symbol, name, decimals }
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
