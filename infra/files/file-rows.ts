/** Rows of the files: ClickHouse parses and filters them, and each faulty one is refused with the name of its file. */
import { openAsBlob } from 'node:fs'
import type { Hash } from 'viem'
import { loadSql } from '../../aggregator/store/store.ts'
import type { BlockRange } from '../../ingest/model/block-range.ts'
import { SourceRefused } from '../../ingest/model/errors.ts'
import type { Header, LogFilter, RpcLog } from '../../ingest/rpc/rpc.ts'
import type { OwnerAccess } from '../clickhouse/store.ts'
import type { RowReader } from './binary-rows.ts'
import { type CryoFile, type CryoFolder, nameOfFile, overlapping, stateOf } from './cryo-files.ts'
import { NO_PARENT } from './file-checks.ts'
import { FileLog } from './file-log.ts'
import { structureOf } from './parquet-columns.ts'
import { askFile, isTooLarge, isUnreadable } from './parquet-query.ts'

const fileLogs = loadSql(import.meta.url, './file_logs.sql')
const fileBlocks = loadSql(import.meta.url, './file_blocks.sql')

/** Bytes of data that no log has: in the memory of a contract they cost 600 million gas. */
const MAX_LOG_DATA = 16 * 1024 * 1024

export type FileReading = {
  server: OwnerAccess
  files: CryoFolder
  chainId: number
  filter: LogFilter
  signal: AbortSignal
}

/** `fault`: empty where there is none. The log lacks its block. */
export type LogRow = { number: number; index: number; log: RpcLog; fault: string }

export function readLogs(reading: FileReading, file: CryoFile, blocks: BlockRange): AsyncGenerator<LogRow[]> {
  const { topics, address = [] } = reading.filter
  const [first] = topics
  const list = (values: readonly string[]) => `[${values.map((value) => `'${value}'`).join(',')}]`
  const parameters = { topics: list(first ?? []), addresses: list(address), max_data: MAX_LOG_DATA }
  return readFile(reading, file, { query: fileLogs, parameters: { ...parameters, ...blocks }, read: logRow })
}

/** In the order of file_logs.sql. */
function logRow(row: RowReader): LogRow {
  const number = row.number()
  const index = row.number()
  return { number, index, log: new FileLog(row, index), fault: row.text() }
}

type HeaderRow = Header & { fault: string }

/** In the order of file_blocks.sql. */
function headerRow(row: RowReader): HeaderRow {
  const [number, timestamp, hash] = [row.number(), row.number(), row.hex() as Hash]
  const [parent, logsBloom] = [row.hexOrNull(), row.hexOrNull()]
  return {
    number,
    timestamp,
    hash,
    parentHash: parent ?? NO_PARENT,
    ...(logsBloom && { logsBloom }),
    fault: row.text(),
  }
}

/** At least one. */
export type Headers = readonly [Header, ...Header[]]

/** One header for each block of the range, in order. */
export async function readHeaders(reading: FileReading, range: BlockRange): Promise<Headers> {
  const headers: Header[] = []
  for (const file of overlapping(reading.files.blocks, range)) {
    const question = { query: fileBlocks, parameters: { ...range }, read: headerRow }
    for await (const rows of readFile(reading, file, question)) {
      for (const { fault, ...header } of rows) {
        const { number } = header
        if (fault !== '') throw new SourceRefused(`${file.name}: block ${number} ${fault}.`)
        const expected = range.from + headers.length
        if (number !== expected)
          throw new SourceRefused(`${file.name} has block ${number} in the place of block ${expected}.`)
        headers.push(header)
      }
    }
  }
  const missing = range.from + headers.length
  const [first, ...others] = headers
  if (!first || missing <= range.to)
    throw new SourceRefused(`${nameOfFile(reading.files.blocks, missing)} lacks block ${missing}.`)
  return [first, ...others]
}

type Question<Row> = {
  query: string
  parameters: Readonly<Record<string, string | number>>
  read: (row: RowReader) => Row
}

async function* readFile<Row>(
  { server, chainId, signal }: FileReading,
  file: CryoFile,
  { query, parameters, read }: Question<Row>,
): AsyncGenerator<Row[]> {
  const { name, dataset, from: first, to: last } = file
  try {
    const table = { content: await contentOf(file), format: 'Parquet', structure: structureOf(dataset) } as const
    yield* askFile(server, table, query, { chain_id: chainId, first, last, ...parameters }, read, signal)
  } catch (error) {
    if (isTooLarge(error))
      throw new SourceRefused(`${name} takes too much memory: write smaller files with a smaller --chunk-size.`, {
        cause: error,
      })
    if (isUnreadable(error)) throw new SourceRefused(`${name} cannot be read: ${error.message}`, { cause: error })
    if (isUnsent(error)) throw changed(name, error)
    throw error
  }
}

/** The bytes that were listed: the columns of others are not checked. */
async function contentOf({ path, name, bytes, changedMs }: CryoFile): Promise<Blob> {
  try {
    const content = await openAsBlob(path)
    const now = await stateOf(path)
    if (now?.bytes === bytes && now.changedMs === changedMs) return content
  } catch (error) {
    throw changed(name, error)
  }
  throw changed(name)
}

/** Whether the file was changed or removed while its bytes were sent. */
function isUnsent(error: unknown): boolean {
  return error instanceof Error && (error.name === 'NotReadableError' || isUnsent(error.cause))
}

function changed(name: string, cause?: unknown): SourceRefused {
  return new SourceRefused(`${name} has changed since it was checked: run the command again.`, { cause })
}
