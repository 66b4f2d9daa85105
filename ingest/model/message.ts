/**
 * Messages from ingest to the aggregator: single blocks near the head, whole ranges once they are final, and overwrites of final ranges by
 * jobs.
 */
import type { Hash } from 'viem'
import type { NetworkName } from './network.ts'
import type { LiquidityChange, Pool, PoolBalance, PoolId } from './pool.ts'
import type { Tick, TickColumns } from './tick.ts'

/** Seconds since 1970-01-01T00:00:00Z. */
export type UnixSeconds = number

/** Times are stored in 32 bits; this is the end of the last whole day, in 2106. */
export const TIME_END: UnixSeconds = Math.floor(2 ** 32 / 86_400) * 86_400

/** Market data of one block. */
export type BlockContent = {
  number: number
  hash: Hash
  timestamp: UnixSeconds
  /** Ascending by log index. */
  ticks: readonly Tick[]
  /** Pools first seen by this listener in this block: created, initialised or first swapped. */
  pools: readonly Pool[]
  liquidity: readonly LiquidityChange[]
  /** v3 balances read at this block; absent for most blocks. */
  balances: readonly PoolBalance[]
}

/** The part of a header that places a log in time. */
export type BlockHeader = Pick<BlockContent, 'number' | 'hash' | 'timestamp'>

/** A block that may still be replaced. Blocks without content are sent too, so that every parent hash can be checked. */
export type BlockMessage = BlockContent & {
  kind: 'block'
  network: NetworkName
  parentHash: Hash
  /** Number of the newest final block when this one was read; 0 where unknown. */
  finalized: number
}

/** History: all blocks from `from` to `to`; `blocks` has those with content. Final, unless `finalized` is present. */
export type RangeMessage = {
  kind: 'range'
  network: NetworkName
  from: number
  to: number
  /** Hash and time of block `to`. */
  hash: Hash
  timestamp: UnixSeconds
  /** Hash of the block before `from`, as the listener read it; absent only at the start of its stream. */
  parentHash: Hash | undefined
  /** As in a block; absent where the range itself is final. */
  finalized?: number
  blocks: readonly BlockContent[]
}

export type Message = BlockMessage | RangeMessage

/**
 * Final history read by a job, apart from the stream: the complete content of its blocks for its pools. Stored rows of those blocks that
 * are not in it are deleted.
 */
export type RangeOverwrite = {
  kind: 'restatement'
  network: NetworkName
  /** The job that read it. A later job's statement about the same blocks wins. */
  job: number
  /** Pools that it covers; all where absent. */
  pools: readonly PoolId[] | undefined
  from: number
  to: number
  /** Time of block `from`, or of the block before it. */
  firstTimestamp: UnixSeconds
  /** Hash and time of block `to`. */
  timestamp: UnixSeconds
  hash: Hash
  blocks: readonly BlockContent[]
  /** The ticks of all blocks; absent in a message of Kafka. With them, a block builds its own list only where it is asked for. */
  columns?: TickColumns
}

/** A block by number and hash. */
export type BlockRef = { number: number; hash: Hash }

/** The last block of a message. */
export function tipOf(message: Message | RangeOverwrite): BlockRef {
  return { number: message.kind === 'block' ? message.number : message.to, hash: message.hash }
}

export function blocksOf(message: Message | RangeOverwrite): readonly BlockContent[] {
  return message.kind === 'block' ? [message] : message.blocks
}

export function ticksIn(message: Message | RangeOverwrite): number {
  if (message.kind === 'restatement' && message.columns) return message.columns.length
  return blocksOf(message).reduce((sum, block) => sum + block.ticks.length, 0)
}
