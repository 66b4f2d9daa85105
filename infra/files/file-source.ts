/** History from Parquet files of cryo: ClickHouse parses and filters them, and each answer is checked against its file, its headers and the chain. */
import { openAsBlob } from 'node:fs'
import type { Address, Hash, Hex } from 'viem'
import { loadSql } from '../../aggregator/store/store.ts'
import type { HistorySource } from '../../ingest/backfill/history-source.ts'
import { MAX_RANGE_BLOCKS, type RangesOptions } from '../../ingest/blocks/range-scheduler.ts'
import type { BlockRange } from '../../ingest/model/block-range.ts'
import { SourceRefused } from '../../ingest/model/errors.ts'
import type { Endpoints } from '../../ingest/rpc/endpoints/endpoints.ts'
import type { LogRange } from '../../ingest/rpc/logs/log-range.ts'
import type { Header, LogFilter, RpcLog } from '../../ingest/rpc/rpc.ts'
import type { OwnerAccess } from '../clickhouse/store.ts'
import { type CryoFile, type CryoFolder, nameOfFile, overlapping, stateOf } from './cryo-files.ts'
import { headerOf, NO_PARENT, requireBlooms, requireChain, requireOnChain, requireShare } from './file-checks.ts'
import { structureOf } from './parquet-columns.ts'
import { askFile, isTooLarge, isUnreadable } from './parquet-query.ts'

const fileLogs = loadSql(import.meta.url, './file_logs.sql')
const fileBlocks = loadSql(import.meta.url, './file_blocks.sql')

/** Target number of logs of a range. */
const RANGE_LOGS = 5_000
/** Bytes of data that no log has: in the memory of a contract they cost 600 million gas. */
const MAX_LOG_DATA = 16 * 1024 * 1024
/** Size at which a range ends, in hex digits: any contract may emit our events with long data. */
const RANGE_DIGITS = 16 * 1024 * 1024
/** Size that no block has, in hex digits. */
const MAX_BLOCK_DIGITS = 512 * 1024 * 1024
/** A log without data counts as so many, which is what its topics and hashes take. */
const LOG_DIGITS = 1_000

export type FileSourceOptions = {
  server: OwnerAccess
  files: CryoFolder
  chainId: number
  /** The share of blocks whose logs are proven over the endpoints, 0 to 1. */
  proofShare: number
}

export function fileSource(options: FileSourceOptions): HistorySource {
  return { read: (endpoints, ranges) => readFiles(options, endpoints, ranges) }
}

async function* readFiles(
  options: FileSourceOptions,
  endpoints: Endpoints,
  { filter, from, to, signal: stop }: RangesOptions,
): AsyncGenerator<LogRange> {
  const files = overlapping(options.files.logs, { from, to })
  const headerFiles = options.files.blocks
  const ended = new AbortController()
  const reading = { ...options, filter, signal: AbortSignal.any([stop, ended.signal]) }
  const start = (file: CryoFile | undefined) => {
    const opened = file && openFile(reading, file, { from: Math.max(from, file.from), to: Math.min(to, file.to) })
    // The failure is thrown at its turn; until then it must not count as an unhandled rejection.
    opened?.catch(() => undefined)
    return opened
  }
  let before: Header | undefined
  let next = start(files[0])
  try {
    for (let index = 0; next; index++) {
      const { file, headers, ranges } = await next
      // ClickHouse parses the next file while this one is processed.
      next = start(files[index + 1])
      before = requireChain(headerFiles, before, headers)
      await requireOnChain(endpoints, headerFiles, before)
      for await (const range of ranges) {
        stop.throwIfAborted()
        const checked = { file: file.name, range, headers, headerFiles }
        requireBlooms(checked)
        await requireShare(endpoints, checked, filter, options.proofShare)
        yield range
      }
    }
  } finally {
    ended.abort()
  }
}

type Headers = readonly [Header, ...Header[]]
type FileReading = FileSourceOptions & { filter: LogFilter; signal: AbortSignal }
type OpenedFile = { file: CryoFile; headers: Headers; ranges: AsyncGenerator<LogRange> }

/** Its question is sent at once, so that the answer waits when the file's turn comes. */
async function openFile(reading: FileReading, file: CryoFile, blocks: BlockRange): Promise<OpenedFile> {
  const rows = readLogs(reading, file, blocks)
  const first = rows.next()
  first.catch(() => undefined)
  const headers = await readHeaders(reading, blocks)
  return { file, headers, ranges: rangesOf(file, blocks, headers, continued(first, rows)) }
}

async function* continued<Row>(first: Promise<IteratorResult<Row[], void>>, rest: AsyncGenerator<Row[]>) {
  const { done, value } = await first
  if (done) return
  yield value
  yield* rest
}

type LogRow = [
  number: number,
  index: number,
  transaction: Hash,
  address: Address,
  topic0: Hex | null,
  topic1: Hex | null,
  topic2: Hex | null,
  topic3: Hex | null,
  data: Hex,
  fault: string,
]

function readLogs(reading: FileReading, file: CryoFile, blocks: BlockRange): AsyncGenerator<LogRow[]> {
  const { topics, address = [] } = reading.filter
  const [first] = topics
  const list = (values: readonly string[]) => `[${values.map((value) => `'${value}'`).join(',')}]`
  const parameters = { topics: list(first ?? []), addresses: list(address) }
  return readFile<LogRow>(reading, file, fileLogs, { ...parameters, ...blocks, max_data: MAX_LOG_DATA })
}

type HeaderRow = [number: number, timestamp: number, hash: Hash, parent: Hash | null, bloom: Hex | null, fault: string]

/** One header for each block of the range, in order. */
async function readHeaders(reading: FileReading, range: BlockRange): Promise<Headers> {
  const headers: Header[] = []
  for (const file of overlapping(reading.files.blocks, range)) {
    for await (const rows of readFile<HeaderRow>(reading, file, fileBlocks, { ...range })) {
      for (const [number, timestamp, hash, parent, bloom, fault] of rows) {
        if (fault !== '') throw new SourceRefused(`${file.name}: block ${number} ${fault}.`)
        const expected = range.from + headers.length
        if (number !== expected)
          throw new SourceRefused(`${file.name} has block ${number} in the place of block ${expected}.`)
        headers.push({ number, timestamp, hash, parentHash: parent ?? NO_PARENT, ...(bloom && { logsBloom: bloom }) })
      }
    }
  }
  const missing = range.from + headers.length
  const [first, ...others] = headers
  if (!first || missing <= range.to)
    throw new SourceRefused(`${nameOfFile(reading.files.blocks, missing)} lacks block ${missing}.`)
  return [first, ...others]
}

async function* readFile<Row extends readonly unknown[]>(
  { server, chainId, signal }: FileReading,
  file: CryoFile,
  query: string,
  parameters: Readonly<Record<string, string | number>>,
): AsyncGenerator<Row[]> {
  const { name, dataset, from: first, to: last } = file
  try {
    const table = { content: await contentOf(file), format: 'Parquet', structure: structureOf(dataset) } as const
    yield* askFile<Row>(server, table, query, { chain_id: chainId, first, last, ...parameters }, signal)
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

/** Throws where logs are out of order, come twice, are ones that the file may not have, or are more than a block has. */
async function* rangesOf(
  { name }: CryoFile,
  { from: first, to }: BlockRange,
  headers: readonly Header[],
  pieces: AsyncIterable<LogRow[]>,
): AsyncGenerator<LogRange> {
  let from = first
  let logs: RpcLog[] = []
  let [block, index] = [-1, -1]
  let [digits, digitsOfBlock] = [0, 0]
  const end = (to: number): LogRange => {
    const range = toRange(headers, { from, to }, logs)
    from = to + 1
    logs = []
    digits = 0
    return range
  }
  for await (const rows of pieces) {
    for (const row of rows) {
      const [number, logIndex, , , , , , , data, fault] = row
      if (fault !== '') throw new SourceRefused(`${name}: log ${logIndex} of block ${number} ${fault}.`)
      if (number < block || (number === block && logIndex <= index))
        throw new SourceRefused(
          `${name}: log ${logIndex} of block ${number} ${number === block && logIndex === index ? 'is there twice' : 'is out of order'}.`,
        )
      if (number !== block) {
        digitsOfBlock = 0
        if (logs.length >= RANGE_LOGS || digits >= RANGE_DIGITS) yield end(number - 1)
        while (number - from >= MAX_RANGE_BLOCKS) yield end(from + MAX_RANGE_BLOCKS - 1)
        block = number
      }
      index = logIndex
      digits += LOG_DIGITS + data.length
      digitsOfBlock += LOG_DIGITS + data.length
      if (digitsOfBlock > MAX_BLOCK_DIGITS)
        throw new SourceRefused(`${name}: block ${number} has more logs than fit into a block.`)
      logs.push(toLog(row, headerOf(headers, number)))
    }
  }
  while (from <= to) yield end(Math.min(to, from + MAX_RANGE_BLOCKS - 1))
}

function toRange(headers: readonly Header[], range: BlockRange, logs: readonly RpcLog[]): LogRange {
  const numbers = new Set(logs.map(({ blockNumber }) => Number(blockNumber)))
  return {
    ...range,
    logs,
    headers: Array.from(numbers, (it) => headerOf(headers, it)),
    last: headerOf(headers, range.to),
  }
}

function toLog(row: LogRow, { number, hash }: Header): RpcLog {
  const [, index, transactionHash, address, topic0, topic1, topic2, topic3, data] = row
  return {
    address,
    topics: [topic0, topic1, topic2, topic3].filter((topic) => topic !== null),
    data,
    blockNumber: `0x${number.toString(16)}`,
    blockHash: hash,
    transactionHash,
    logIndex: `0x${index.toString(16)}`,
  }
}
