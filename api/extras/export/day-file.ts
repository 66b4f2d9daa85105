/** One file of an export: written beside its name, synced, then renamed, so that a file is whole or not there. */
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { EXPORT_SETTINGS, type ExportStatement } from './statement.ts'

export type WrittenFile = { rows: number; bytes: number; sha256: string }

/**
 * Resolves once the tables have answered, with the function that writes the answer: meanwhile the tables may read the next day. Without rows
 * there is no file. Rejects where the tables do not answer; the function, where the disk is full: then nothing is left of the file.
 */
export async function readDay(
  client: ClickHouseClient,
  { query, parameters }: ExportStatement,
  path: string,
  signal: AbortSignal,
): Promise<() => Promise<WrittenFile>> {
  const { stream, response_headers } = await client.exec({
    query,
    query_params: parameters,
    clickhouse_settings: EXPORT_SETTINGS,
    use_multipart_params_auto: true,
    abort_signal: signal,
  })
  const rows = rowsOf(response_headers['x-clickhouse-summary'])
  return () => writeDayFile(stream, rows, path, signal)
}

async function writeDayFile(stream: Readable, rows: number, path: string, signal: AbortSignal): Promise<WrittenFile> {
  const partial = `${path}.partial`
  const hash = createHash('sha256')
  let bytes = 0
  try {
    await pipeline(
      stream,
      async function* hashed(chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          hash.update(chunk)
          bytes += chunk.length
          yield chunk
        }
      },
      createWriteStream(partial, { flush: true }),
      { signal },
    )
    if (rows > 0) await rename(partial, path)
    else await Promise.all([partial, path].map((one) => rm(one, { force: true })))
    await syncFolder(dirname(path))
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
  return rows > 0 ? { rows, bytes, sha256: hash.digest('hex') } : { rows: 0, bytes: 0, sha256: '' }
}

function rowsOf(summary: string | string[] | undefined): number {
  const { result_rows: rows } = JSON.parse(String(summary ?? '{}')) as { result_rows?: string }
  if (rows === undefined) throw new Error('ClickHouse answered without X-ClickHouse-Summary: is a proxy in between?')
  return Number(rows)
}

/** The rename itself is on the disk. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
