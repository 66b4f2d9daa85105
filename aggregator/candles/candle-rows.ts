/** Candles as rows: encoded by the fold, and read back where ClickHouse recomputed them. */
import type { ClickHouseClient } from '@clickhouse/client'
import { type ColumnAllocator, NEW_MEMORY } from '../../ingest/columns/column-memory.ts'
import { WORD_LANES, writeWord } from '../../ingest/columns/tick-columns.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import {
  dictionaryColumn,
  integersOf,
  type NativeColumn,
  nativeBlock,
  plainColumn,
  ulpsOf,
} from '../store/native-format.ts'
import { askGroups, poolGroups } from '../store/pool-groups.ts'
import { ask, loadSql } from '../store/store.ts'
import type { Prices, Resolution } from './candle.ts'
import type { CandleColumns, PriceColumns } from './candle-columns.ts'
import type { Bucket } from './open-candles.ts'

const openBuckets = loadSql(import.meta.url, './open_candles.sql')

/** The rows as pieces of one INSERT; none where there are no candles. */
export function candleBlock(
  network: NetworkName,
  candles: CandleColumns,
  pools: readonly PoolId[],
  version: bigint,
  memory = NEW_MEMORY,
): Uint8Array[] {
  const { length: rows, arrays } = candles
  if (rows === 0) return []
  const { execution, spot } = arrays
  const words = (lanes: Uint32Array) => lanes.subarray(0, rows * WORD_LANES)
  const counts = (values: Uint32Array) => integersOf(values.subarray(0, rows), memory)
  return nativeBlock(rows, [
    dictionaryColumn('network', [network], new Uint32Array(rows)),
    dictionaryColumn('pool', pools, arrays.pool.subarray(0, rows)),
    plainColumn('resolution', 'UInt32', arrays.resolution.subarray(0, rows)),
    plainColumn('time', "DateTime('UTC')", arrays.start.subarray(0, rows)),
    plainColumn('open', 'Float64', execution.open.subarray(0, rows)),
    ...ulpsColumns('', execution, rows, memory),
    plainColumn('spot_open_ulps', 'Int64', ulps(spot.open, execution.open, rows, memory)),
    ...ulpsColumns('spot_', spot, rows, memory),
    plainColumn('volume0', 'UInt256', words(arrays.volume0)),
    plainColumn('volume1', 'UInt256', words(arrays.volume1)),
    plainColumn('volume_usd', 'Decimal(76, 6)', words(arrays.volumeUsdMicros)),
    plainColumn('trades', 'UInt64', counts(arrays.trades)),
    plainColumn('buys', 'UInt64', counts(arrays.buys)),
    plainColumn('mixed_buys0', 'UInt256', words(arrays.mixedBuys0)),
    plainColumn('mixed_buys1', 'UInt256', words(arrays.mixedBuys1)),
    plainColumn('unexecuted', 'UInt64', counts(arrays.unexecuted)),
    plainColumn('version', 'UInt128', repeated(version, rows, memory)),
  ])
}

/** As the table has them: see its definition. */
function ulpsColumns(
  prefix: string,
  { open, high, low, close }: PriceColumns,
  rows: number,
  memory: ColumnAllocator,
): NativeColumn[] {
  const [higher, lower] = [memory.float64(rows), memory.float64(rows)]
  for (let row = 0; row < rows; row++) {
    const [first, last] = [open[row] as number, close[row] as number]
    higher[row] = Math.max(first, last)
    lower[row] = Math.min(first, last)
  }
  return [
    plainColumn(`${prefix}close_ulps`, 'Int64', ulps(close, open, rows, memory)),
    plainColumn(`${prefix}high_ulps`, 'Int64', ulps(high, higher, rows, memory)),
    plainColumn(`${prefix}low_ulps`, 'Int64', ulps(low, lower, rows, memory)),
  ]
}

function ulps(values: Float64Array, base: Float64Array, rows: number, memory: ColumnAllocator): Uint32Array {
  return ulpsOf(values.subarray(0, rows), base.subarray(0, rows), memory)
}

const VERSION_LANES = 4

/** 128 bits each. */
function repeated(value: bigint, rows: number, memory: ColumnAllocator): Uint32Array {
  const lanes = memory.uint32(rows * VERSION_LANES)
  writeWord(lanes, 0, value, VERSION_LANES)
  for (let at = VERSION_LANES; at < lanes.length; at++) lanes[at] = lanes[at - VERSION_LANES] as number
  return lanes
}

/** A row of `candles` as JSON. */
export type CandleRow = {
  pool: PoolId
  resolution: Resolution
  start: UnixSeconds
  volume0: string
  volume1: string
  volume_usd_micros: string
  trades: number | string
  buys: number | string
  buy_volume0: string
  buy_volume1: string
  unexecuted: number | string
} & Prices &
  Record<`spot_${keyof Prices}`, number>

/** For each pool the buckets that hold `second`. */
export async function readOpenCandles(
  client: ClickHouseClient,
  network: NetworkName,
  pools: readonly PoolId[],
  second: UnixSeconds,
): Promise<Bucket[]> {
  const rows = await askGroups(poolGroups(pools), (pools) =>
    ask<CandleRow>(client, openBuckets, { network, pools, second }),
  )
  return rows.map(toBucket)
}

export function toBucket({ pool, resolution, start, ...row }: CandleRow): Bucket {
  return {
    pool,
    resolution,
    start,
    candle: {
      execution: { open: row.open, high: row.high, low: row.low, close: row.close },
      spot: { open: row.spot_open, high: row.spot_high, low: row.spot_low, close: row.spot_close },
      volume0: BigInt(row.volume0),
      volume1: BigInt(row.volume1),
      volumeUsdMicros: BigInt(row.volume_usd_micros),
      trades: Number(row.trades),
      buys: Number(row.buys),
      buyVolume0: BigInt(row.buy_volume0),
      buyVolume1: BigInt(row.buy_volume1),
      unexecuted: Number(row.unexecuted),
    },
  }
}
