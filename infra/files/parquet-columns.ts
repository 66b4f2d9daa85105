/** Columns of the files, from their footers: a file with other columns is refused before any of it is read. */
import { type FileHandle, open } from 'node:fs/promises'
import type { BlockRange } from '../../ingest/model/block-range.ts'
import type { OwnerAccess } from '../clickhouse/store.ts'
import { UsageError } from '../lib/usage-error.ts'
import type { RowReader } from './binary-rows.ts'
import { type CryoDataset, type CryoFile, cryoCommand } from './cryo-files.ts'
import { askFile, isUnreadable } from './parquet-query.ts'

type CryoColumn = { name: string; type: ColumnType; isNeeded: boolean }

/** A type that a column is read as, with the physical types of Parquet that become it without a conversion. */
const PHYSICAL = {
  UInt64: ['INT32', 'INT64'],
  String: ['BYTE_ARRAY', 'FIXED_LEN_BYTE_ARRAY'],
  'Nullable(String)': ['BYTE_ARRAY', 'FIXED_LEN_BYTE_ARRAY'],
} as const satisfies Record<string, readonly string[]>
type ColumnType = keyof typeof PHYSICAL

const needed = (name: string, type: ColumnType): CryoColumn => ({ name, type, isNeeded: true })
const checked = (name: string): CryoColumn => ({ name, type: 'Nullable(String)', isNeeded: false })

/** The columns that are read. A file may lack those that only checks use. */
const COLUMNS: Readonly<Record<CryoDataset, readonly CryoColumn[]>> = {
  logs: [
    needed('chain_id', 'UInt64'),
    needed('block_number', 'UInt64'),
    needed('log_index', 'UInt64'),
    needed('transaction_hash', 'String'),
    needed('address', 'String'),
    ...[0, 1, 2, 3].map((place) => needed(`topic${place}`, 'Nullable(String)')),
    needed('data', 'String'),
  ],
  blocks: [
    needed('chain_id', 'UInt64'),
    needed('block_number', 'UInt64'),
    needed('timestamp', 'UInt64'),
    needed('block_hash', 'String'),
    checked('parent_hash'),
    checked('logs_bloom'),
  ],
}

/** Names and types as ClickHouse takes them. */
export function structureOf(dataset: CryoDataset): string {
  return COLUMNS[dataset].map(({ name, type }) => `${name} ${type}`).join(', ')
}

const FOOTER = {
  format: 'ParquetMetadata',
  structure: `columns Array(Tuple(name String, path String, max_definition_level UInt64, max_repetition_level UInt64,
    physical_type String, logical_type String, compression String, total_uncompressed_size UInt64, total_compressed_size UInt64,
    space_saved String, encodings Array(String)))`,
} as const

/** Throws where files lack columns that are read, have them as hex text, or are no Parquet files: each with the command that writes them. */
export async function requireColumns(
  server: OwnerAccess,
  files: readonly CryoFile[],
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const refused: string[] = []
  for (const file of files) {
    const fault = await faultOf(server, file, signal)
    if (fault !== undefined)
      refused.push(`${file.name} ${fault}. ${cryoCommand(file.dataset, file, folder)} --overwrite`)
    if (refused.length === MAX_SHOWN) break
  }
  if (refused.length > 0) throw new UsageError(refused.map((line) => `--files: ${line}`).join('\n'))
}

const MAX_SHOWN = 20

async function faultOf(server: OwnerAccess, file: CryoFile, signal: AbortSignal): Promise<string | undefined> {
  if (file.bytes > MAX_FILE_BYTES)
    return `has ${mib(file.bytes)} MiB, and a file may have ${mib(MAX_FILE_BYTES)}: write smaller ones with a smaller --chunk-size`
  const content = await footerOf(file)
  if (!content) return 'is no Parquet file, or is cut off'
  const columns = await readColumns(server, content, signal).catch((error: unknown) => {
    if (isUnreadable(error)) return undefined
    throw error
  })
  return columns ? faultOfColumns(file.dataset, columns) : 'has a footer that cannot be read'
}

function faultOfColumns(dataset: CryoDataset, columns: ReadonlyMap<string, FooterColumn>): string | undefined {
  const missing = COLUMNS[dataset].filter(({ name, isNeeded }) => isNeeded && !columns.has(name))
  if (missing.length > 0) return `lacks the columns ${missing.map(({ name }) => name).join(', ')}`
  const others = COLUMNS[dataset].filter(({ name, type }) => {
    const found = columns.get(name)
    return found && !PHYSICAL[type].some((physical) => physical === found.physical)
  })
  if (others.length > 0) return `has other types in the columns ${others.map(({ name }) => name).join(', ')}`
  const isHex = COLUMNS[dataset].some(({ name }) => columns.get(name)?.logical === 'String')
  return isHex ? 'has hex texts, and bytes are read: write it without --hex' : undefined
}

/** Sent in one request, and unpacked in the memory of one statement. */
export const MAX_FILE_BYTES = 256 * 1024 * 1024

function mib(bytes: number): string {
  return Math.ceil(bytes / 1024 / 1024).toLocaleString('en')
}

/** Types as the footer names them. */
type FooterColumn = { physical: string; logical: string }

/** By path: a column within another one is none that is read. */
async function readColumns(
  server: OwnerAccess,
  content: Blob,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, FooterColumn>> {
  const query = 'SELECT it.path, it.physical_type, it.logical_type FROM file ARRAY JOIN columns AS it'
  const read = (row: RowReader) => [row.text(), { physical: row.text(), logical: row.text() }] as const
  const found: (readonly [string, FooterColumn])[] = []
  for await (const rows of askFile(server, { content, ...FOOTER }, query, {}, read, signal)) found.push(...rows)
  return new Map(found)
}

const MAGIC = 'PAR1'
/** Length of the footer, then the magic bytes. */
const TAIL_BYTES = 8

/** A file of the footer alone: it has all that its reader looks for. Undefined where the file has no footer. */
async function footerOf({ path, bytes }: BlockRange & CryoFile): Promise<Blob | undefined> {
  if (bytes < 2 * TAIL_BYTES) return undefined
  const file = await open(path)
  try {
    const tail = await readAt(file, bytes - TAIL_BYTES, TAIL_BYTES)
    const length = tail.readUInt32LE(0)
    if (tail.toString('latin1', 4) !== MAGIC || length > bytes - TAIL_BYTES - MAGIC.length) return undefined
    return new Blob([MAGIC, await readAt(file, bytes - TAIL_BYTES - length, length), tail])
  } finally {
    await file.close()
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer<ArrayBuffer>> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  if (bytesRead < length) throw new UsageError('--files: a file became shorter while it was read.')
  return buffer
}
