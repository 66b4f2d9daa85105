/** Rows of the table of ticks, from columns to one block of an INSERT. */
import type { ClickHouseClient } from '@clickhouse/client'
import { type ColumnAllocator, ColumnMemory, NEW_MEMORY } from '../../ingest/columns/column-memory.ts'
import { type SortedTicks, sortTicks } from '../../ingest/columns/sorted-ticks.ts'
import {
  columnsOf,
  HASH_BYTES,
  hookAmountsAt,
  LIQUIDITY_LANES,
  SENDER_BYTES,
  ticksPerBlock,
  WORD_LANES,
  writeWord,
} from '../../ingest/columns/tick-columns.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { TickColumns } from '../../ingest/model/tick.ts'
import { estimatePrices } from '../candles/price-estimate.ts'
import {
  bytesColumn,
  dictionaryColumn,
  integersOf,
  type NativeColumn,
  nativeBlock,
  plainColumn,
  ulpsOf,
} from '../store/native-format.ts'
import { insertNative } from '../store/store.ts'
import type { VersionedBlock, VersionedContent } from './rows.ts'

export type VersionedTicks = SortedTicks & {
  network: NetworkName
  /** By row of `ticks`. */
  versions: BigUint64Array
  /** Rows that are of one of the blocks: all, unless a bug has mixed them. */
  placed: number
}

export function contentOf(blocks: readonly VersionedBlock[], memory = NEW_MEMORY): VersionedContent {
  const ticks = columnsOf(
    blocks.map(({ block }) => block),
    memory,
  )
  return { blocks, ticks }
}

export function versionTicks(network: NetworkName, { blocks, ticks }: VersionedContent): VersionedTicks {
  const counts = ticksPerBlock(
    blocks.map(({ block }) => block),
    ticks,
  )
  const versions = new BigUint64Array(ticks.length)
  let row = 0
  for (const [index, { version }] of blocks.entries()) {
    const to = row + (counts[index] ?? 0)
    versions.fill(version, row, to)
    row = to
  }
  return { ...sortTicks(ticks), network, versions, placed: row }
}

/** All rows are encoded when it returns. */
export async function insertTicks(client: ClickHouseClient, ticks: VersionedTicks): Promise<void> {
  const memory = new ColumnMemory()
  await insertNative(client, 'ticks', tickBlock(ticks, memory))
  memory.release()
}

/** The rows as pieces of one INSERT; none where there are no ticks. */
export function tickBlock(ticks: VersionedTicks, memory = NEW_MEMORY): Uint8Array[] {
  const rows = ticks.order.length
  return rows === 0 ? [] : nativeBlock(rows, columnsInOrder(ticks, memory))
}

function columnsInOrder(sorted: VersionedTicks, memory: ColumnAllocator): NativeColumn[] {
  const { network, ticks, order, groups, versions } = sorted
  const rows = order.length
  const lanes = (of: Uint32Array, width = 1) => gather(of, order, width, memory)
  const bytes = (of: NodeJS.TypedArray, width: number) => gather(lanesOf(of), order, width / LANE_BYTES, memory)
  const names = groups.map(({ pool }) => pool)
  const pools = memory.uint32(rows)
  for (const [index, { from, to }] of groups.entries()) pools.fill(index, from, to)
  const block = memory.float64(rows)
  for (let place = 0; place < rows; place++) block[place] = ticks.block[order[place] as number] as number
  return [
    dictionaryColumn('network', [network], new Uint32Array(rows)),
    dictionaryColumn('pool', names, pools),
    plainColumn('time', "DateTime('UTC')", lanes(ticks.time)),
    plainColumn('block', 'UInt64', integersOf(block, memory)),
    plainColumn('log_index', 'UInt32', lanes(ticks.logIndex)),
    plainColumn('transaction_hash', `FixedString(${HASH_BYTES})`, bytes(ticks.transactionHash, HASH_BYTES)),
    plainColumn('amount0', 'Int256', lanes(ticks.amount0, WORD_LANES)),
    plainColumn('amount1', 'Int256', lanes(ticks.amount1, WORD_LANES)),
    plainColumn('sqrt_price', 'UInt256', lanes(ticks.sqrtPrice, WORD_LANES)),
    plainColumn('liquidity', 'UInt128', lanes(ticks.liquidity, LIQUIDITY_LANES)),
    plainColumn('pool_tick', 'Int32', bytes(ticks.poolTick, LANE_BYTES)),
    plainColumn('fee', 'UInt32', lanes(ticks.fee)),
    ...priceColumns(ticks, order, memory),
    plainColumn('amount_usd', 'Decimal(76, 6)', lanes(ticks.usdMicros, WORD_LANES)),
    plainColumn('version', 'UInt64', bytes(versions, 2 * LANE_BYTES)),
    plainColumn('is_deleted', 'UInt8', new Uint8Array(rows)),
    plainColumn('sender', `FixedString(${SENDER_BYTES})`, bytes(ticks.sender, SENDER_BYTES)),
    ...hookColumns(ticks, order),
  ]
}

/** Nearly no flush has any: the server leaves the column empty then. */
function hookColumns(ticks: TickColumns, order: Uint32Array): NativeColumn[] {
  if (ticks.hookAmounts.size === 0) return []
  const values = Array.from(order, (row) => {
    const hooked = hookAmountsAt(ticks, row)
    if (!hooked) return NO_BYTES
    const words = new Uint32Array(2 * WORD_LANES)
    writeWord(words, 0, hooked.amount0, WORD_LANES)
    writeWord(words, WORD_LANES, hooked.amount1, WORD_LANES)
    return new Uint8Array(words.buffer)
  })
  return [bytesColumn('hook_amounts', values)]
}

const NO_BYTES = new Uint8Array(0)

function priceColumns(ticks: TickColumns, order: Uint32Array, memory: ColumnAllocator): NativeColumn[] {
  const numbers = () => memory.float64(order.length)
  const [scale, spot, price] = [numbers(), numbers(), numbers()]
  const [spotEstimate, priceEstimate] = [numbers(), numbers()]
  for (let place = 0; place < order.length; place++) {
    const row = order[place] ?? 0
    const estimate = estimatePrices(ticks, row)
    scale[place] = estimate.scale
    spotEstimate[place] = estimate.spotPrice
    priceEstimate[place] = estimate.price
    spot[place] = ticks.spotPrice[row] ?? 0
    price[place] = ticks.price[row] ?? 0
  }
  return [
    plainColumn('scale', 'Float64', scale),
    plainColumn('spot_price_ulps', 'Int64', ulpsOf(spot, spotEstimate, memory)),
    plainColumn('price_ulps', 'Int64', ulpsOf(price, priceEstimate, memory)),
  ]
}

const LANE_BYTES = 4

/** The same memory as 32-bit lanes: a loop over one type of array is the fastest. */
function lanesOf({ buffer, byteOffset, byteLength }: NodeJS.TypedArray): Uint32Array {
  return new Uint32Array(buffer, byteOffset, byteLength / LANE_BYTES)
}

/** Values of the rows in order, `width` lanes each. */
function gather(from: Uint32Array, order: Uint32Array, width: number, memory: ColumnAllocator): Uint32Array {
  const to = memory.uint32(order.length * width)
  let at = 0
  for (let place = 0; place < order.length; place++) {
    const row = (order[place] as number) * width
    for (let lane = row; lane < row + width; lane++) to[at++] = from[lane] as number
  }
  return to
}
