/** Rows of the table of ticks, from columns to one block of an INSERT. */
import type { ClickHouseClient } from '@clickhouse/client'
import { type SortedTicks, sortTicks } from '../../ingest/columns/sorted-ticks.ts'
import {
  columnsOf,
  HASH_BYTES,
  LIQUIDITY_LANES,
  SENDER_BYTES,
  ticksPerBlock,
  WORD_LANES,
} from '../../ingest/columns/tick-columns.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { TickColumns } from '../../ingest/model/tick.ts'
import { estimatePrices } from '../candles/price-estimate.ts'
import { dictionaryColumn, type NativeColumn, nativeBlock, plainColumn, ulpsOf } from '../store/native-format.ts'
import { insertNative } from '../store/store.ts'
import type { VersionedBlock, VersionedContent } from './rows.ts'

export type VersionedTicks = SortedTicks & {
  network: NetworkName
  /** By row of `ticks`. */
  versions: BigUint64Array
}

export function contentOf(blocks: readonly VersionedBlock[]): VersionedContent {
  return { blocks, ticks: columnsOf(blocks.map(({ block }) => block)) }
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
  return { ...sortTicks(ticks), network, versions }
}

/** All rows are encoded when it returns. */
export function insertTicks(client: ClickHouseClient, ticks: VersionedTicks): Promise<void> {
  return insertNative(client, 'ticks', tickBlock(ticks))
}

/** The rows as pieces of one INSERT; none where there are no ticks. */
export function tickBlock(ticks: VersionedTicks): Uint8Array[] {
  const rows = ticks.order.length
  return rows === 0 ? [] : nativeBlock(rows, columnsInOrder(ticks))
}

function columnsInOrder({ network, ticks, order, groups, versions }: VersionedTicks): NativeColumn[] {
  const rows = order.length
  const words = (lanes: Uint32Array, width: number) => gather(lanes, order, width, new Uint32Array(rows * width))
  const bytes = (of: Uint8Array, width: number) => gather(of, order, width, new Uint8Array(rows * width))
  const names = groups.map(({ pool }) => pool)
  const pools = new Uint32Array(rows)
  for (const [index, { from, to }] of groups.entries()) pools.fill(index, from, to)
  const block = new BigUint64Array(rows)
  const version = new BigUint64Array(rows)
  for (let place = 0; place < rows; place++) {
    const row = order[place] ?? 0
    block[place] = BigInt(ticks.block[row] ?? 0)
    version[place] = versions[row] ?? 0n
  }
  return [
    dictionaryColumn('network', [network], new Uint32Array(rows)),
    dictionaryColumn('pool', names, pools),
    plainColumn('time', "DateTime('UTC')", gather(ticks.time, order, 1, new Uint32Array(rows))),
    plainColumn('block', 'UInt64', block),
    plainColumn('log_index', 'UInt32', gather(ticks.logIndex, order, 1, new Uint32Array(rows))),
    plainColumn('transaction_hash', `FixedString(${HASH_BYTES})`, bytes(ticks.transactionHash, HASH_BYTES)),
    plainColumn('amount0', 'Int256', words(ticks.amount0, WORD_LANES)),
    plainColumn('amount1', 'Int256', words(ticks.amount1, WORD_LANES)),
    plainColumn('sqrt_price', 'UInt256', words(ticks.sqrtPrice, WORD_LANES)),
    plainColumn('liquidity', 'UInt128', words(ticks.liquidity, LIQUIDITY_LANES)),
    plainColumn('pool_tick', 'Int32', gather(ticks.poolTick, order, 1, new Int32Array(rows))),
    plainColumn('fee', 'UInt32', gather(ticks.fee, order, 1, new Uint32Array(rows))),
    ...priceColumns(ticks, order),
    plainColumn('amount_usd', 'Decimal(76, 6)', words(ticks.usdMicros, WORD_LANES)),
    plainColumn('version', 'UInt64', version),
    plainColumn('is_deleted', 'UInt8', new Uint8Array(rows)),
    plainColumn('sender', `FixedString(${SENDER_BYTES})`, bytes(ticks.sender, SENDER_BYTES)),
  ]
}

function priceColumns(ticks: TickColumns, order: Uint32Array): NativeColumn[] {
  const numbers = () => new Float64Array(order.length)
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
    plainColumn('spot_price_ulps', 'Int64', ulpsOf(spot, spotEstimate)),
    plainColumn('price_ulps', 'Int64', ulpsOf(price, priceEstimate)),
  ]
}

/** Values of the rows in order, `width` elements each. */
function gather<Column extends Uint32Array | Int32Array | Uint8Array>(
  from: Column,
  order: Uint32Array,
  width: number,
  to: Column,
): Column {
  for (let place = 0; place < order.length; place++) {
    const row = (order[place] ?? 0) * width
    const at = place * width
    for (let index = 0; index < width; index++) to[at + index] = from[row + index] ?? 0
  }
  return to
}
