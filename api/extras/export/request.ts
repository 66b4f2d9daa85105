/** The request of an export, its formats and its columns. */
import type { Network } from '../../../ingest/model/network.ts'
import type { PairView } from '../../market/model/orientation.ts'
import type { CandleAddition } from '../../query/include.ts'
import type { IntervalSeconds } from '../../query/interval.ts'
import type { PairPrice } from '../../query/query.ts'

export const EXPORTED_KINDS = ['ticks', 'candles'] as const
export type ExportedKind = (typeof EXPORTED_KINDS)[number]

/** Names of ClickHouse's formats; the key is the ending of the files, too. */
export const FILE_FORMATS = {
  parquet: 'Parquet',
  csv: 'CSVWithNames',
  ndjson: 'JSONEachRow',
  arrow: 'Arrow',
} as const
export type FileFormat = keyof typeof FILE_FORMATS

export type ExportRequest = {
  network: Network
  /** Undefined: all pools of the network, each in its own order. */
  view: PairView | undefined
  what: ExportedKind
  /** Ignored where ticks are exported. */
  interval: IntervalSeconds
  /** Columns of candles after the others. */
  include?: readonly CandleAddition[]
  price: PairPrice
  format: FileFormat
}

type Column = { name: string; type: 'string' | 'time' | 'double' | 'integer'; unit?: string }

const TEXT = (name: string, unit?: string): Column => ({ name, type: 'string', ...(unit && { unit }) })
const NUMBER = (name: string, unit: string): Column => ({ name, type: 'double', unit })

/** Names, types and units of the columns, in their order. */
export const EXPORTED_COLUMNS: Readonly<Record<ExportedKind, readonly Column[]>> = {
  ticks: [
    TEXT('network'),
    TEXT('pool'),
    TEXT('id', 'transaction hash and log index'),
    { name: 'timestamp', type: 'time', unit: 'UTC, of the block' },
    NUMBER('price', 'token1 per token0'),
    TEXT('side', 'buy: the taker received token0'),
    TEXT('amount0', 'token0, received by the taker, exact decimal'),
    TEXT('amount1', 'token1, received by the taker, exact decimal'),
    NUMBER('amountUSD', 'USD'),
    TEXT('token0', 'symbol'),
    TEXT('token1', 'symbol'),
    { name: 'block', type: 'integer' },
    { name: 'logIndex', type: 'integer' },
    TEXT('sender', 'contract or account that called the pool; null in rows of versions that did not keep it'),
  ],
  candles: [
    TEXT('network'),
    TEXT('pool'),
    TEXT('pair', 'base-quote'),
    { name: 'time', type: 'time', unit: 'UTC, start of the candle' },
    NUMBER('open', 'quote per base'),
    NUMBER('high', 'quote per base'),
    NUMBER('low', 'quote per base'),
    NUMBER('close', 'quote per base'),
    NUMBER('volume', 'quote'),
    { name: 'trades', type: 'integer' },
  ],
}

/** After the columns of candles, by the name of `include`. The average price of an answer is `volume` / `volumeBase`. */
const ADDED_COLUMNS: Readonly<Record<CandleAddition, readonly Column[]>> = {
  flow: [
    { name: 'buys', type: 'integer' },
    { name: 'sells', type: 'integer' },
    NUMBER('volumeBase', 'base'),
    NUMBER('volumeUsd', 'USD'),
    NUMBER('buyVolume', 'quote, of the buys'),
  ],
}

export function columnsOf({ what, include = [] }: Pick<ExportRequest, 'what' | 'include'>): readonly Column[] {
  return [...EXPORTED_COLUMNS[what], ...include.flatMap((name) => ADDED_COLUMNS[name])]
}
