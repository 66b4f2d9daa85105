/** Encode: rows of the market's tables, column by column in the order of their definition. */

import { type BlockContent, type Message, tipOf } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { LiquidityChange, Pool, PoolBalance } from '../../ingest/model/pool.ts'
import type { TickColumns } from '../../ingest/model/tick.ts'
import { venueOf } from '../../ingest/model/venue.ts'
import { bucketStart } from '../candles/candle.ts'
import type { LedgerBlock } from '../ledger/stored-blocks.ts'
import { digestOf } from '../store/digest.ts'
import type { RowBinary } from '../store/row-binary.ts'
import type { LogPosition, Version } from '../store/version.ts'

/** A message and its place in the log, which gives its rows their version. */
export type PlacedMessage = {
  message: Message
  position: LogPosition
  /** The tip of the ledger below it; absent where the ledger begins with it. */
  parent: LedgerBlock | undefined
}

/** A block whose rows get `version`. */
export type VersionedBlock = { network: NetworkName; block: BlockContent; version: Version }

/** Blocks, and the ticks of all of them. */
export type VersionedContent = { blocks: readonly VersionedBlock[]; ticks: TickColumns }

const LIVE = 0
const HOUR = 3_600
const ZERO_HASH = `0x${'0'.repeat(64)}` as const

/** Columns of a row of the ledger, in the order of `blockRow`. */
export const LEDGER_COLUMNS = `network LowCardinality(String), number UInt64, hash FixedString(32), parent_hash FixedString(32), time DateTime,
  first UInt64, ticks UInt32, digest UInt64, version UInt64, is_deleted UInt8, finalized UInt64`
/** The table, with the names of these columns. */
export const LEDGER = `blocks (${LEDGER_COLUMNS.split(',').map((column) => column.trim().split(' ')[0])})`

type BlockRow = {
  network: NetworkName
  /** Absent `finalized`: the block is final. */
  block: Pick<BlockContent, 'number' | 'hash' | 'timestamp' | 'ticks'> & { finalized?: number }
  parentHash: `0x${string}` | undefined
  /** The first block that the message covered. */
  first: number
  version: Version
}

function blockRow(out: RowBinary, { network, block, parentHash, first, version }: BlockRow): void {
  out
    .string(network)
    .uint64(block.number)
    .hash(block.hash)
    .hash(parentHash ?? ZERO_HASH)
    .uint32(block.timestamp)
  out.uint64(first).uint32(block.ticks.length).uint64(digestOf(block.ticks)).uint64(version).uint8(LIVE)
  out.uint64(block.finalized ?? block.number)
}

/** A block message leaves one row; a range leaves its blocks with content and its last one. */
export function ledgerRows(out: RowBinary, message: Message, version: Version): void {
  const { network, parentHash } = message
  if (message.kind === 'block') {
    blockRow(out, { network, block: message, parentHash, first: message.number, version })
    return
  }
  const last = tipOf(message)
  const final = message.finalized === undefined ? {} : { finalized: message.finalized }
  for (const { number, hash, timestamp, ticks } of message.blocks) {
    if (number === last.number) continue
    const block = { number, hash, timestamp, ticks, ...final }
    blockRow(out, { network, block, parentHash: undefined, first: number, version })
  }
  const ticks = message.blocks.find((block) => block.number === last.number)?.ticks ?? []
  const block = { ...last, timestamp: message.timestamp, ticks, ...final }
  blockRow(out, { network, block, parentHash: undefined, first: message.from, version })
}

export function poolRow(out: RowBinary, { network, block, version }: VersionedBlock, pool: Pool): void {
  out.string(network).string(pool.id).uint64(block.number).uint32(block.timestamp).string(pool.protocol)
  out.uint32(pool.fee).integer(pool.initialSqrtPriceX96, 256)
  for (const token of [pool.token0, pool.token1]) {
    out.string(token.address).string(token.symbol).string(token.name).uint8(token.decimals)
  }
  out
    .uint64(version)
    .uint8(LIVE)
    .string(venueOf(pool))
    .string(pool.hooks ?? '')
}

export function liquidityRow(
  out: RowBinary,
  { network, block, version }: VersionedBlock,
  change: LiquidityChange,
): void {
  out.string(network).string(change.pool).uint64(block.number).uint32(change.logIndex).uint32(block.timestamp)
  out.int32(change.tickLower).int32(change.tickUpper).integer(change.liquidityDelta, 256).uint64(version).uint8(LIVE)
}

export function balanceRow(out: RowBinary, { network, block }: VersionedBlock, balance: PoolBalance): void {
  out.string(network).string(balance.pool).uint64(block.number).hash(block.hash)
  out.integer(balance.balance0, 256).integer(balance.balance1, 256)
  out.uint32(block.timestamp)
}

/** Keyed by pool and hour: the row of the newest message replaces the others. */
export function balanceHourRow(
  out: RowBinary,
  { network, block, version }: VersionedBlock,
  { pool, balance0, balance1 }: PoolBalance,
): void {
  out.string(network).string(pool).uint32(bucketStart(block.timestamp, HOUR)).uint64(block.number)
  out.integer(balance0, 256).integer(balance1, 256).uint64(version).uint8(LIVE)
}
