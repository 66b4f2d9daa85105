/** Parquet files of the recorded day's first blocks, with whatever is wrong with them, and their reading as a backfill reads them. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { OwnerAccess } from '../../infra/clickhouse/store.ts'
import { listCryoFiles, requireWhole } from '../../infra/files/cryo-files.ts'
import { fileSource } from '../../infra/files/file-source.ts'
import { requireColumns } from '../../infra/files/parquet-columns.ts'
import { connectChain } from '../../infra/rpc/chain-client.ts'
import { V3_TOPICS } from '../../ingest/decode/decode-v3.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import type { LogRange } from '../../ingest/rpc/logs/log-range.ts'
import { temporaryFolder } from './candlepool.ts'
import { freshDatabase } from './clickhouse.ts'
import { type CryoFileOptions, type CryoRow, type CryoRows, cryoRowsOf, writeCryoFile } from './cryo-files.ts'
import { DAY } from './recorded.ts'
import { startRecordedDay } from './recorded-day.ts'

export const [FROM, TO] = [DAY.firstBlock, DAY.firstBlock + 19]

type Files = CryoRows & { from?: number; to?: number } & Pick<CryoFileOptions, 'without' | 'as' | 'hex' | 'network'>
/** `server`: the one that parses. */
export type ReadOptions = {
  proofShare?: number
  from?: number
  to?: number
  between?: () => Promise<unknown>
  server?: OwnerAccess
  /** After each range; `before`: the number of earlier ones. */
  onRange?: (before: number) => Promise<unknown>
}
export type FileReading = Awaited<ReturnType<typeof openFileReading>>

export async function openFileReading() {
  const rpc = await startRecordedDay()
  const temporary = await temporaryFolder()
  const database = await freshDatabase()
  const rows = await cryoRowsOf(rpc, FROM, TO)
  const { endpoints } = connectChain([rpc.url], { network: NETWORKS.ethereum, headerProof: 'off' })
  const signal = new AbortController().signal
  let folders = 0

  async function makeFolder(): Promise<string> {
    const folder = join(temporary.path, `files-${++folders}`)
    await mkdir(folder)
    return folder
  }

  /** One file of each kind, with these changes. Returns their folder. */
  async function write(files: Partial<Files> = {}): Promise<string> {
    const folder = await makeFolder()
    await writeInto(folder, files)
    return folder
  }

  async function writeInto(folder: string, files: Partial<Files> = {}): Promise<void> {
    const { logs, blocks, from = FROM, to = TO, ...options } = { ...rows, ...files }
    await writeCryoFile(database.client, folder, 'logs', logs, { from, to, ...options })
    await writeCryoFile(database.client, folder, 'blocks', blocks, { from, to, ...options })
  }

  /** As the command does it; `between` runs after the checks of the footers. */
  async function read(folder: string, options: ReadOptions = {}) {
    const { proofShare = 0, from = FROM, to = TO, between, server = database.connection, onRange } = options
    const files = await listCryoFiles(folder)
    requireWhole(files, { from, to })
    await requireColumns(server, [...files.logs, ...files.blocks], folder, signal)
    await between?.()
    const source = fileSource({ server, files, chainId: 1, proofShare })
    const ranges: LogRange[] = []
    for await (const range of source.read(endpoints, { filter: FILTER, from, to, signal })) {
      await onRange?.(ranges.length)
      ranges.push(range)
    }
    return ranges
  }

  async function close(): Promise<void> {
    await database.drop()
    await temporary.remove()
    await rpc.stop()
  }

  return { rpc, rows, database, makeFolder, write, writeInto, read, close }
}

export const FILTER = { topics: [Object.values(V3_TOPICS)] }

/** The row at `place`, from the end where that is negative, with these fields. */
export function withRow(rows: readonly CryoRow[], place: number, fields: CryoRow): CryoRow[] {
  return rows.with(place, { ...rows.at(place), ...fields })
}
