/** How the stage asks ClickHouse: a question from a `.sql` file, typed parameters, plain rows. */
import { readFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { Problem } from './problem.ts'

/** ClickHouse's codes for “not now”: too slow, too busy, no memory, going away, a shard away, or its tables not made yet. */
const NOT_NOW = new Set([
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

/** So many pools are asked for at once at most: ClickHouse takes 128 kB in a parameter. */
export const MAX_POOLS_PER_QUERY = 1_000

/** Plain rows. */
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

/** The bytes of a question that names its format: all of them, or the error that stopped them half-way. */
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

/** A store that does not answer is a 503; a question that it refuses is a bug of ours, and goes on as it came. */
export async function orUnavailable<Answer>(question: () => Promise<Answer>): Promise<Answer> {
  try {
    return await question()
  } catch (cause) {
    throw isOurFault(cause) ? cause : storeUnavailable(cause)
  }
}

function isOurFault(error: unknown): boolean {
  return error instanceof ClickHouseError && !NOT_NOW.has(error.code)
}

export function storeUnavailable(cause: unknown): Problem {
  return new Problem('store_unavailable', 'The store does not answer at the moment. Ask again in a few seconds.', {
    headers: { 'Retry-After': '5' },
    cause,
  })
}
