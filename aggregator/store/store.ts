/** ClickHouse as the aggregator uses it: RowBinary in, statements from .sql files, few rows out. */
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import type { BaseQueryParams, ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import { RowBinary } from './row-binary.ts'

/** The last second of a DateTime: no row has a later one. */
export const MAX_TIME: UnixSeconds = 2 ** 32 - 1

export type QueryParameters = Record<string, string | number | bigint | readonly (string | number)[]>

/** Reads a statement beside the caller: `loadSql(import.meta.url, './touched.sql')`. */
export function loadSql(caller: string, path: string): string {
  return readFileSync(new URL(path, caller), 'utf8')
}

/** One INSERT of everything that `write` puts down. */
export async function insertRows(
  client: ClickHouseClient,
  table: string,
  write: (rows: RowBinary) => void,
): Promise<void> {
  const rows = new RowBinary()
  write(rows)
  await insertBinary(client, table, rows)
}

/** `columns`: names and types in the order of the rows. The server looks at the condition when the statement arrives. */
export type InsertCondition = { columns: string; where: string; parameters: QueryParameters }

/** One INSERT; none where there are no rows. They are gone once they are stored. */
export async function insertBinary(
  client: ClickHouseClient,
  table: string,
  rows: RowBinary,
  condition?: InsertCondition,
): Promise<void> {
  const { chunks } = rows
  if (chunks.length === 0) return
  const selection = condition && `SELECT * FROM input('${condition.columns}') WHERE ${condition.where} `
  await sendBytes(client, `INSERT INTO ${table} ${selection ?? ''}FORMAT RowBinary`, chunks, condition?.parameters)
  rows.recycle()
}

/** One INSERT of a block of the format Native; none where there are no pieces. Its columns have names: a later version may have added some. */
export async function insertNative(
  client: ClickHouseClient,
  table: string,
  pieces: readonly Uint8Array[],
): Promise<void> {
  if (pieces.length > 0) await sendBytes(client, `INSERT INTO ${table} FORMAT Native`, pieces)
}

async function sendBytes(
  client: ClickHouseClient,
  query: string,
  pieces: readonly Uint8Array[],
  parameters: QueryParameters = {},
): Promise<void> {
  const { stream } = await client.exec({ query, query_params: parameters, values: Readable.from(pieces) })
  // An unread response keeps its socket busy.
  stream.resume()
}

/** All at once; where some fail, throws the first failure once none is under way any more. */
export async function together(tasks: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(tasks)
  await Promise.all(tasks)
}

export async function run(client: ClickHouseClient, query: string, parameters: QueryParameters): Promise<void> {
  await client.command({ query, query_params: parameters })
}

/** Options of a statement that runs in the database `default`: the client's own may not exist. */
export const IN_DEFAULT = { http_headers: { 'X-ClickHouse-Database': 'default' } } as const

export async function ask<Row>(
  client: ClickHouseClient,
  query: string,
  parameters: QueryParameters = {},
  options: Pick<BaseQueryParams, 'http_headers' | 'abort_signal' | 'clickhouse_settings'> = {},
): Promise<Row[]> {
  const answer = await client.query({ query, query_params: parameters, format: 'JSONEachRow', ...options })
  return answer.json<Row>()
}
