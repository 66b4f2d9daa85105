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

type OpenedFile = { file: CryoFile; headers: Headers; ranges: AsyncGenerator<FileRange> }

/** Its question is sent at once, so that the answer waits when the file's turn comes. */
async function openFile(reading: FileReading, file: CryoFile, blocks: BlockRange): Promise<OpenedFile> {
  const rows = readLogs(reading, file, blocks)
  const first = rows.next()
  first.catch(() => undefined)
  const headers = await readHeaders(reading, blocks)
  return { file, headers, ranges: rangesOf(file.name, blocks, headers, continued(first, rows)) }
}

async function* continued<Row>(first: Promise<IteratorResult<Row[], void>>, rest: AsyncGenerator<Row[]>) {
  const { done, value } = await first
  if (done) return
  yield value
  yield* rest
}
