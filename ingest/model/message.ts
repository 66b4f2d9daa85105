/** What ingest says of a chain: single blocks near the head, whole ranges once they are final. Live and history are one stream. */
import type { Hash } from 'viem'
import type { NetworkName } from './network.ts'
import type { LiquidityChange, Pool, PoolBalance, PoolId } from './pool.ts'
import type { Tick } from './tick.ts'

/** Seconds since 1970-01-01T00:00:00Z. */
export type UnixSeconds = number

/** Times, and the ends of their days, are stored in 32 bits: the last whole day of them ends here, in 2106. */
export const TIME_END: UnixSeconds = Math.floor(2 ** 32 / 86_400) * 86_400

/** One block's share of the market. */
export type BlockContent = {
  number: number
  hash: Hash
  timestamp: UnixSeconds
  /** By log index. */
  ticks: readonly Tick[]
  /** Pools seen in this block for the first time by this listener: created, initialised or first swapped. */
  pools: readonly Pool[]
  liquidity: readonly LiquidityChange[]
  /** v3 balances read at this block; not every block has them. */
  balances: readonly PoolBalance[]
}

/** The part of a header that places a log in time. */
export type BlockHeader = Pick<BlockContent, 'number' | 'hash' | 'timestamp'>

/** A block that may still be replaced. Empty ones are sent too, so that every parent hash can be checked. */
export type BlockMessage = BlockContent & {
  kind: 'block'
  network: NetworkName
  parentHash: Hash
  /** The newest block passed on that no reorg replaced any more when this one was read; 0 where none was known. */
  finalized: number
}

/** History: every block from `from` to `to`, of which `blocks` are the ones with content. It is final, unless it says what is. */
export type RangeMessage = {
  kind: 'range'
  network: NetworkName
  from: number
  to: number
  /** Of block `to`, as is `timestamp`. */
  hash: Hash
  timestamp: UnixSeconds
  /** Of the block before `from`, as the listener read it; absent only where its stream begins. */
  parentHash: Hash | undefined
  /** As a block's, where no endpoint names a final block; absent where the range itself is final. */
  finalized?: number
  blocks: readonly BlockContent[]
}

export type Message = BlockMessage | RangeMessage

/**
 * Final history stated anew, apart from the stream: the whole truth about its blocks, for its pools.
 * What is stored of those blocks and is not in it was never there.
 */
export type RangeOverwrite = {
  kind: 'restatement'
  network: NetworkName
  /** The job that read it; what a later job says of the same blocks counts instead. */
  job: number
  /** All pools where absent. */
  pools: readonly PoolId[] | undefined
  from: number
  to: number
  /** Of block `from`, or of the block before it. */
  firstTimestamp: UnixSeconds
  /** Of block `to`, as is `hash`. */
  timestamp: UnixSeconds
  hash: Hash
  blocks: readonly BlockContent[]
}

/** A place on the chain. */
export type BlockRef = { number: number; hash: Hash }

/** The last block that a message speaks of. */
export function tipOf(message: Message | RangeOverwrite): BlockRef {
  return { number: message.kind === 'block' ? message.number : message.to, hash: message.hash }
}

export function blocksOf(message: Message | RangeOverwrite): readonly BlockContent[] {
  return message.kind === 'block' ? [message] : message.blocks
}

export function ticksIn(message: Message | RangeOverwrite): number {
  return blocksOf(message).reduce((sum, block) => sum + block.ticks.length, 0)
}
