/** Has ClickHouse parse a file: its bytes are sent with the question, so that the server needs no access to the disk of this process. */
import { ClickHouseError, parseError } from '@clickhouse/client'
import { isLoopback } from '../clickhouse/client/client.ts'
import type { OwnerAccess } from '../clickhouse/store.ts'
import { binaryRows, ROW_MARK, type RowReader } from './binary-rows.ts'

/** A table of one request. */
export type ParquetTable = { content: Blob; format: 'Parquet' | 'ParquetMetadata'; structure: string }

const MIB = 1024 * 1024

/**
 * Memory of one statement: the columns of the largest file that is sent, unpacked. It is compared once they are; until then the limit of the server
 * itself ends a file that unpacks to more than it has.
 */
export const STATEMENT_BYTES = 2_048 * MIB

const SETTINGS = {
  // Rows come in the order of the file.
  max_threads: '1',
  max_memory_usage: String(STATEMENT_BYTES),
  // A NULL would become a block 0, or data without bytes.
  input_format_null_as_default: '0',
}

/**
 * Rows of a SELECT from the table `file`, in pieces as they arrive, in the order of the file. `read` takes the values of one row. Throws
 * `ClickHouseError` where the server refuses the file or the statement.
 */
export async function* askFile<Row>(
  { url, username, password }: OwnerAccess,
  { content, format, structure }: ParquetTable,
  query: string,
  parameters: Readonly<Record<string, string | number>>,
  read: (reader: RowReader) => Row,
  signal: AbortSignal,
): AsyncGenerator<Row[]> {
  const address = new URL(url)
  const ours = Object.entries(parameters).map(([name, value]) => [`param_${name}`, String(value)])
  address.search = new URLSearchParams({
    query: `SELECT toUInt8(${ROW_MARK}), * FROM (${query})\nFORMAT RowBinary`,
    file_format: format,
    file_structure: structure,
    ...SETTINGS,
    ...Object.fromEntries(ours),
  }).toString()
  const body = new FormData()
  body.set('file', content, 'file')
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  // Compression costs both processes more than the rest of an answer, where nothing leaves the machine.
  const encoding = { 'accept-encoding': isLoopback(url) ? 'identity' : 'gzip' }
  const answer = await fetch(address, { method: 'POST', headers: { authorization, ...encoding }, body, signal })
  if (!answer.ok) throw errorIn(await answer.text())
  const rows = answer.body?.pipeThrough(new TransformStream<Uint8Array, Uint8Array>({}, AHEAD))
  if (rows) yield* binaryRows(rows as unknown as AsyncIterable<Uint8Array>, read)
}

/** Parquet's library throws exceptions that are none of ClickHouse's: `std::exception. Code: 1001, type: …, e.what() = …`. */
function errorIn(text: string): Error {
  const [, code, type, message] = /^std::exception\. Code: (\d+), type: (\S+), e\.what\(\) = (.*)/.exec(text) ?? []
  return code && type ? new ClickHouseError({ message: message ?? '', code, type }) : parseError(text)
}

/** Read ahead of its reader: a server breaks an answer off that is not taken for 30 seconds, and the proof of a range may take longer. */
const AHEAD = new ByteLengthQueuingStrategy({ highWaterMark: 64 * MIB })

/** Whether the server refuses the content of the file, rather than the request. */
export function isUnreadable(error: unknown): error is ClickHouseError {
  return error instanceof ClickHouseError && !REQUEST_CODES.has(error.code)
}

export function isTooLarge(error: unknown): boolean {
  return error instanceof ClickHouseError && error.code === MEMORY_LIMIT
}

const MEMORY_LIMIT = '241'
/** Time-outs, too many statements, a user without rights, memory. */
const REQUEST_CODES = new Set(['159', '202', '209', '210', '497', '516', MEMORY_LIMIT])
