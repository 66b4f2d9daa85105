/** History from Parquet files of cryo: each answer of ClickHouse is checked against its file, its headers and the chain. */
import type { HistorySource } from '../../ingest/backfill/history-source.ts'
import type { RangesOptions } from '../../ingest/blocks/range-scheduler.ts'
import type { BlockRange } from '../../ingest/model/block-range.ts'
import type { Endpoints } from '../../ingest/rpc/endpoints/endpoints.ts'
import type { LogRange } from '../../ingest/rpc/logs/log-range.ts'
import type { Header } from '../../ingest/rpc/rpc.ts'
import { type CryoFile, overlapping } from './cryo-files.ts'
import { requireBlooms, requireChain, requireOnChain, requireShare } from './file-checks.ts'
import { type FileRange, rangesOf } from './file-ranges.ts'
import { type FileReading, type Headers, readHeaders, readLogs } from './file-rows.ts'

export type FileSourceOptions = Pick<FileReading, 'server' | 'files' | 'chainId'> & {
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
  const headerFiles = options.files.blocks
  const ended = new AbortController()
  const reading = { ...options, endpoints, filter, signal: AbortSignal.any([stop, ended.signal]) }
  let before: Header | undefined
  try {
    for await (const { file, headers, onChain, ranges } of openFiles(reading, { from, to })) {
      before = requireChain(headerFiles, before, headers)
      await onChain
      for await (const { range, byBlock } of ranges) {
        stop.throwIfAborted()
        const checked = { file: file.name, range, byBlock, headers, headerFiles }
        requireBlooms(checked)
        await requireShare(endpoints, checked, filter, options.proofShare)
        yield range
      }
    }
  } finally {
    ended.abort()
  }
}

type SourceReading = FileReading & { endpoints: Endpoints }
/** `onChain`: rejects where the last header is not on the chain. */
type OpenedFile = { file: CryoFile; headers: Headers; onChain: Promise<void>; ranges: AsyncGenerator<FileRange> }

/** Files that are open at once: one is processed, and ClickHouse parses the others meanwhile. */
const MAX_OPEN = 4
/** Bytes of them, except for the first two. */
const OPEN_BYTES = 32 * 1024 * 1024

async function* openFiles(reading: SourceReading, { from, to }: BlockRange): AsyncGenerator<OpenedFile> {
  const files = overlapping(reading.files.logs, { from, to })
  const opened: Promise<OpenedFile>[] = []
  let next = 0
  const fill = (processed: number) => {
    for (let file = files[next]; file && next < processed + MAX_OPEN; file = files[++next]) {
      const bytes = files.slice(processed, next + 1).reduce((sum, it) => sum + it.bytes, 0)
      if (next > processed + 1 && bytes > OPEN_BYTES) return
      opened.push(settled(openFile(reading, file, { from: Math.max(from, file.from), to: Math.min(to, file.to) })))
    }
  }
  for (let processed = 0; processed < files.length; processed++) {
    fill(processed)
    const file = opened.shift()
    if (file) yield await file
  }
}

/** Its failure is thrown at its turn; until then it must not count as an unhandled rejection. */
function settled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}

/** Its question is sent at once, so that the answer waits when the file's turn comes. */
async function openFile(reading: SourceReading, file: CryoFile, blocks: BlockRange): Promise<OpenedFile> {
  const rows = readLogs(reading, file, blocks)
  const first = settled(rows.next())
  const headers = await readHeaders(reading, blocks)
  const last = headers.at(-1) ?? headers[0]
  const onChain = settled(requireOnChain(reading.endpoints, reading.files.blocks, last))
  return { file, headers, onChain, ranges: rangesOf(file.name, blocks, headers, continued(first, rows)) }
}

async function* continued<Row>(first: Promise<IteratorResult<Row[], void>>, rest: AsyncGenerator<Row[]>) {
  const { done, value } = await first
  if (done) return
  yield value
  yield* rest
}
