/** Has ClickHouse parse a file: its bytes are sent with the question, so that the server needs no access to the disk of this process. */
import { ClickHouseError, parseError } from '@clickhouse/client'
import type { OwnerAccess } from '../clickhouse/store.ts'

/** A table of one request. */
export type ParquetTable = { content: Blob; format: 'Parquet' | 'ParquetMetadata'; structure: string }

const MIB = 1024 * 1024

/** Memory of one statement: the columns of the largest file that is sent, unpacked. */
export const STATEMENT_BYTES = 2_048 * MIB

const SETTINGS = {
  // Rows come in the order of the file.
  max_threads: '1',
  max_memory_usage: String(STATEMENT_BYTES),
  output_format_json_quote_64bit_integers: '0',
  // A NULL would become a block 0, or data without bytes.
  input_format_null_as_default: '0',
}

/**
 * Rows of a SELECT from the table `file`, in pieces as they arrive, in the order of the file. Throws `ClickHouseError` where the server refuses the
 * file or the statement.
 */
export async function* askFile<Row extends readonly unknown[]>(
  { url, username, password }: OwnerAccess,
  { content, format, structure }: ParquetTable,
  query: string,
  parameters: Readonly<Record<string, string | number>>,
  signal: AbortSignal,
): AsyncGenerator<Row[]> {
  const address = new URL(url)
  const ours = Object.entries(parameters).map(([name, value]) => [`param_${name}`, String(value)])
  address.search = new URLSearchParams({
    query: `${query}\nFORMAT JSONCompactEachRow`,
    file_format: format,
    file_structure: structure,
    ...SETTINGS,
    ...Object.fromEntries(ours),
  }).toString()
  const body = new FormData()
  body.set('file', content, 'file')
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const answer = await fetch(address, { method: 'POST', headers: { authorization }, body, signal })
  if (!answer.ok) throw errorIn(await answer.text())
  if (answer.body) yield* linesOf<Row>(answer.body.pipeThrough(new TransformStream({}, AHEAD)))
}

/** Parquet's library throws exceptions that are none of ClickHouse's: `std::exception. Code: 1001, type: …, e.what() = …`. */
function errorIn(text: string): Error {
  const [, code, type, message] = /^std::exception\. Code: (\d+), type: (\S+), e\.what\(\) = (.*)/.exec(text) ?? []
  return code && type ? new ClickHouseError({ message: message ?? '', code, type }) : parseError(text)
}

/** Read ahead of its reader: a server breaks an answer off that is not taken for 30 seconds, and the proof of a range may take longer. */
const AHEAD = new ByteLengthQueuingStrategy({ highWaterMark: 64 * MIB })

const LINE_FEED = 10

/** An error after the first rows ends the answer with text that is no row. */
async function* linesOf<Row>(body: ReadableStream<Uint8Array>): AsyncGenerator<Row[]> {
  /** Pieces of a line whose end has not come. */
  let begun: Uint8Array[] = []
  for await (const piece of body as unknown as AsyncIterable<Uint8Array>) {
    const end = piece.lastIndexOf(LINE_FEED)
    if (end !== -1) {
      yield parsed<Row>(textOf([...begun, piece.subarray(0, end)]))
      begun = []
    }
    begun.push(piece.subarray(end + 1))
  }
  const rest = textOf(begun)
  if (rest !== '') throw new Error(`ClickHouse broke an answer off: ${rest.slice(0, 300)}`)
}

/** Rows are ASCII: hex digits, numbers, and words of ours. */
function textOf(pieces: readonly Uint8Array[]): string {
  return Buffer.concat(pieces).toString('latin1')
}

function parsed<Row>(lines: string): Row[] {
  try {
    return JSON.parse(`[${lines.replaceAll('\n', ',')}]`) as Row[]
  } catch (error) {
    const [at] = /Code: \d+\. .*/.exec(lines) ?? []
    throw new Error(`ClickHouse broke an answer off: ${at ?? (error as Error).message}`, { cause: error })
  }
}

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
