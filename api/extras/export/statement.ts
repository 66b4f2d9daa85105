/** The statement that reads one file of an export, within bounds of memory that do not depend on the rows. */
import type { ClickHouseSettings } from '@clickhouse/client'
import { NATIVE_CURRENCY, type Network } from '../../../ingest/model/network.ts'
import { FORMULA } from '../../lib/row-text.ts'
import { readSql } from '../../lib/store.ts'
import type { PoolCoverage } from '../../market/cache/coverage.ts'
import { gridOf } from '../../market/candles/candles.ts'
import { resolutionOf } from '../../market/model/windows.ts'
import type { TimeRange } from '../../query/time-range.ts'
import { columnsOf, type ExportRequest, FILE_FORMATS } from './request.ts'

const sql = (name: string) => readSql(new URL(`./${name}.sql`, import.meta.url))
const POOLS = sql('exported-pools')
const TICKS = { rows: sql('tick-rows'), answer: sql('exported-ticks') }
const CANDLES = { rows: sql('candle-rows'), answer: sql('exported-candles') }
const MERGED_CANDLES = { rows: sql('merged-candle-rows'), answer: CANDLES.answer }

const MiB = 2 ** 20
/** A client takes a connection for lost after a minute without a byte. */
const PROGRESS_MS = 20_000

/** One thread: the other is left to live inserts and the API, and rows keep the order of the table. */
export const EXPORT_SETTINGS: ClickHouseSettings = {
  readonly: '2',
  max_threads: 1,
  max_memory_usage: String(1_024 * MiB),
  max_bytes_before_external_group_by: String(256 * MiB),
  max_bytes_before_external_sort: String(256 * MiB),
  join_algorithm: 'hash',
  precise_float_parsing: 1,
  output_format_json_quote_64bit_integers: 0,
  // An empty cell, as in the CSV of an answer.
  format_csv_null_representation: '',
  output_format_parquet_row_group_size: String(2 ** 17),
  output_format_parquet_parallel_encoding: 0,
  output_format_parquet_string_as_string: 1,
  output_format_arrow_string_as_string: 1,
  // A statement that fails has no file, and the head says how many rows there are. Until then the head itself shows that it runs.
  wait_end_of_query: 1,
  send_progress_in_http_headers: 1,
  http_headers_progress_interval_ms: String(PROGRESS_MS),
}

export type ExportStatement = { query: string; parameters: Record<string, unknown> }

/** `range`: bucket starts of candles, times of ticks; `coverage`: as read before the rows. */
export function exportStatement(request: ExportRequest, range: TimeRange, coverage: PoolCoverage): ExportStatement {
  const { network, view, what, interval, price, format } = request
  const isStored = resolutionOf(interval) === interval
  const { rows, answer } = what === 'ticks' ? TICKS : isStored ? CANDLES : MERGED_CANDLES
  const { from, to } = what === 'ticks' ? range : gridOf(range, interval)
  const beyondTip = coverage.backfilled.filter(
    (run) => run.toTime >= from && run.fromTime <= to + interval && run.toTime > (coverage.tip?.timestamp ?? -1),
  )
  const names = columnsOf(request).map(({ name }) => name)
  const query = `WITH exported_pools AS (\n${POOLS}), exported_rows AS (\n${rows})\nSELECT ${names} FROM (\n${answer})\nFORMAT ${FILE_FORMATS[format]}`
  return {
    query,
    parameters: {
      network: network.name,
      pool: view?.listing.pool.id ?? '',
      forward: view?.forward === false ? 0 : 1,
      price,
      interval,
      resolution: resolutionOf(interval),
      from,
      to,
      tip: coverage.tip?.timestamp ?? -1,
      firsts: beyondTip.map((run) => run.fromTime),
      lasts: beyondTip.map((run) => run.toTime),
      formulas: format === 'csv' ? FORMULA.source : '',
      ...curatedSymbols(network),
    },
  }
}

/** As `shownSymbol` has them. */
function curatedSymbols({ trustedTokens, nativeSymbol }: Network) {
  const symbols = new Map<string, string>([[NATIVE_CURRENCY, nativeSymbol]])
  for (const token of trustedTokens) symbols.set(token.address.toLowerCase(), token.symbols[0])
  return { addresses: [...symbols.keys()], symbols: [...symbols.values()] }
}
