/**
 * A message as it lies in Kafka: JSON, which Kafka's own tools print, with one array a field (`ticks.price[i]`) over the whole message.
 * Columns parse as fast as any other form in this runtime, and gzip to 5 % less than an object a tick. `blocks.ticks[b]` counts the
 * ticks of block b; pool ids and senders are stored once, in `poolIds` and `senders`, and referred to by index. Prices are JSON
 * numbers: the shortest text that parses to the same double. For integers see `bigint-json.ts`.
 */
import type { Address, Hash } from 'viem'
import type { Message, RangeOverwrite } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { Pool, PoolId } from '../../../ingest/model/pool.ts'
import type { JsonBigint } from './bigint-json.ts'

/** Raised when an older reader would misread a message; a reader keeps a decoder for every version that a topic may still hold. */
export const VERSION = 1

type Columns<Row> = { [Field in keyof Row]: Row[Field][] }

type WireTick = {
  pool: number
  logIndex: number
  transactionHash: Hash
  amount0: JsonBigint
  amount1: JsonBigint
  sqrtPriceX96: JsonBigint
  liquidity: JsonBigint
  poolTick: number
  fee: number
  price: number
  spotPrice: number
  amountUsdMicros: JsonBigint
}
type WireLiquidity = {
  pool: number
  logIndex: number
  tickLower: number
  tickUpper: number
  liquidityDelta: JsonBigint
}
export type WireHookAmounts = { tick: number; amount0: JsonBigint; amount1: JsonBigint }
type WireBalance = { pool: number; balance0: JsonBigint; balance1: JsonBigint }
type WirePool = Omit<Pool, 'initialSqrtPriceX96'> & { initialSqrtPriceX96: JsonBigint }
/** The last four fields count the block's rows of each kind. */
type WireBlock = {
  number: number
  hash: Hash
  timestamp: number
  ticks: number
  pools: number
  liquidity: number
  balances: number
}
export type WireHead =
  | { kind: 'block'; network: NetworkName; parentHash: Hash; finalized: number }
  | {
      kind: 'range'
      network: NetworkName
      from: number
      to: number
      hash: Hash
      parentHash: Hash | null
      timestamp: number
      finalized?: number
    }
  | (Omit<RangeOverwrite, 'blocks' | 'columns' | 'pools'> & { pools: PoolId[] | null })
export type Wire = {
  v: typeof VERSION
  head: WireHead
  poolIds: PoolId[]
  blocks: Columns<WireBlock>
  /** `sender`: -1 where none is known; absent in messages of versions that did not keep it, as `senders` is. */
  ticks: Columns<WireTick> & { sender?: number[] }
  senders?: Address[]
  /** Amounts that hooks gave or took beside a swap; `tick` is the row of the swap in `ticks`. Absent where there is nothing. */
  hookAmounts?: Columns<WireHookAmounts>
  pools: WirePool[]
  liquidity: Columns<WireLiquidity>
  balances: Columns<WireBalance>
}

export type MessageKinds = ReadonlySet<WireHead['kind']>

export const KINDS: MessageKinds = new Set(['block', 'range', 'restatement'])

/** A message of the stream, or of the backfill log. */
export type AnyMessage = Message | RangeOverwrite

/** The bytes are no message that this version knows. */
export class UnreadableMessage extends Error {
  override readonly name = 'UnreadableMessage'
  readonly retryable = false
  constructor(why: string, options?: ErrorOptions) {
    super(`A message of the log can't be read: ${why}.`, options)
  }
}
