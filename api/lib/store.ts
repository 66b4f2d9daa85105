/** Queries to ClickHouse: a statement from a `.sql` file, typed parameters, plain rows. */
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { pieces } from '../../ingest/lib/pieces.ts'
import { Problem } from './problem.ts'

/** ClickHouse's codes for a temporary failure: too slow, too busy, out of memory, shutting down, a shard unreachable, or tables not created yet. */
const TEMPORARY = new Set([
  '60',
  '81',
  '159',
  '160',
  '202',
  '209',
  '210',
  '241',
  '242',
  '279',
  '394',
  '439',
  '473',
  '745',
])

export function readSql(url: URL): string {
  return readFileSync(url, 'utf8')
}

/** Independent of the server's defaults: rows are stored once their insert has answered. */
export const DURABLE = { async_insert: 0, insert_deduplicate: 0 } as const

const NETWORKS_PER_QUERY = 5

/**
 * The parameters of statements with places for five networks, each with a bound of its own: the primary key serves no bound that depends on
 * a column. Unused places repeat the last network: an empty text would defeat the primary key.
 */
export function networkPlaces<Place extends { network: string }>(places: readonly Place[]): Place[][] {
  return pieces(places, NETWORKS_PER_QUERY).map((piece) =>
    Array.from({ length: NETWORKS_PER_QUERY }, (_, index) => piece[index] ?? (piece.at(-1) as Place)),
  )
}

/** ClickHouse accepts 128 kB in a parameter. */
export const MAX_POOLS_PER_QUERY = 1_000

export function queryRows<Row>(
  client: ClickHouseClient,
  query: string,
  parameters: Record<string, unknown> = {},
): Promise<readonly Row[]> {
  return orUnavailable(async () => {
    const result = await client.query({
      query,
      query_params: parameters,
      format: 'JSONEachRow',
      use_multipart_params_auto: true,
    })
    return result.json<Row>()
  })
}

/** The bytes of a statement that names its format: all of them, or the error that ended the statement. */
export function queryBytes(
  client: ClickHouseClient,
  query: string,
  parameters: Record<string, unknown>,
): Promise<Uint8Array> {
  return orUnavailable(async () => {
    const { stream } = await client.exec({
      query,
      query_params: parameters,
      clickhouse_settings: { wait_end_of_query: 1 },
      use_multipart_params_auto: true,
    })
    return buffer(stream)
  })
}

/** The rows are stored once it resolves. `query` is an INSERT of JSONEachRow. */
export async function insertJson(client: ClickHouseClient, query: string, rows: readonly object[]): Promise<void> {
  const values = Readable.from([rows.map((row) => JSON.stringify(row)).join('\n')])
  const { stream } = await client.exec({ query, values, clickhouse_settings: DURABLE })
  stream.resume()
}

/** Turns an unavailable store into a 503; a refused statement is a bug, and is thrown as it is. */
export async function orUnavailable<Answer>(query: () => Promise<Answer>): Promise<Answer> {
  try {
    return await query()
  } catch (cause) {
    throw isBug(cause) ? cause : storeUnavailable(cause)
  }
}

function isBug(error: unknown): boolean {
  return error instanceof ClickHouseError && !TEMPORARY.has(error.code)
}

export function storeUnavailable(cause: unknown): Problem {
  return new Problem('store_unavailable', 'The store does not answer at the moment. Ask again in a few seconds.', {
    headers: { 'Retry-After': '5' },
    cause,
  })
}
