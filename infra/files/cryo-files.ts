/** Parquet files of a folder, named as cryo names them: `ethereum__logs__18937382_to_18938381.parquet`. */
import type { Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlockRange } from '../../ingest/model/block-range.ts'
import { inOneLine } from '../lib/output.ts'
import { UsageError } from '../lib/usage-error.ts'

export type CryoDataset = 'logs' | 'blocks'

/** The range is that of its name. `name`: below the folder, as it is printed. */
export type CryoFile = BlockRange & { dataset: CryoDataset; name: string; path: string } & FileState

/** A file that is written again has another one. */
export type FileState = { bytes: number; changedMs: number }

/** Files of both kinds in the order of their blocks, without overlap. */
export type CryoFolder = { folder: string; logs: readonly CryoFile[]; blocks: readonly CryoFile[] }

/** NETWORK__DATASET__FIRST_to_LAST.parquet, with a label of the user before or after the blocks. */
const NAME = /__(logs|blocks)__(?:.+__)?(\d{1,12})_to_(\d{1,12})(?:__.+)?\.parquet$/

/** Includes subfolders, as `cryo --subdirs` makes them, and links to files. Links to folders are not followed: they may lead in a circle. */
export async function listCryoFiles(folder: string): Promise<CryoFolder> {
  const files = (await filesBelow(folder, '')).sort((a, b) => a.from - b.from)
  const of = (wanted: CryoDataset) => withoutOverlap(files.filter(({ dataset }) => dataset === wanted))
  return { folder, logs: of('logs'), blocks: of('blocks') }
}

/** `below`: path of the subfolder below the folder. */
async function filesBelow(folder: string, below: string): Promise<CryoFile[]> {
  const files: CryoFile[] = []
  for (const entry of await entriesOf(join(folder, below))) {
    const name = join(below, entry.name)
    if (entry.isDirectory()) files.push(...(await filesBelow(folder, name)))
    const [, dataset, first, last] = NAME.exec(entry.name) ?? []
    if (dataset === undefined) continue
    const path = join(folder, name)
    const state = await stateOf(path)
    if (!state) continue
    const range = { from: Number(first), to: Number(last) }
    files.push({ dataset: dataset as CryoDataset, name: inOneLine(name), path, ...state, ...range })
  }
  return files
}

function entriesOf(folder: string): Promise<Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch((error: Error) => {
    throw new UsageError(`--files: the folder ${inOneLine(folder)} cannot be read: ${inOneLine(error.message)}`)
  })
}

/** Undefined where the path is no file. */
export async function stateOf(path: string): Promise<FileState | undefined> {
  const found = await stat(path).catch((error: Error) => {
    throw new UsageError(`--files: ${inOneLine(error.message)}`)
  })
  return found.isFile() ? { bytes: found.size, changedMs: found.mtimeMs } : undefined
}

function withoutOverlap(files: readonly CryoFile[]): readonly CryoFile[] {
  for (const [index, file] of files.entries()) {
    const before = files[index - 1]
    if (file.from > file.to) throw new UsageError(`--files: ${file.name} ends before it begins, by its name.`)
    if (before && before.to >= file.from)
      throw new UsageError(`--files: ${before.name} and ${file.name} have the same blocks: remove one of them.`)
  }
  return files
}

/** From the first to the last block of any file. */
export function rangeOfFiles({ folder, logs, blocks }: CryoFolder): BlockRange {
  const files = [...logs, ...blocks]
  if (files.length === 0)
    throw new UsageError(
      `--files: ${folder} has no files named as cryo names them, such as ethereum__logs__18937382_to_18938381.parquet.`,
    )
  return { from: Math.min(...files.map(({ from }) => from)), to: Math.max(...files.map(({ to }) => to)) }
}

export function overlapping(files: readonly CryoFile[], { from, to }: BlockRange): readonly CryoFile[] {
  return files.filter((file) => file.from <= to && file.to >= from)
}

/** The name of the file that has the block. */
export function nameOfFile(files: readonly CryoFile[], block: number): string {
  const [file] = overlapping(files, { from: block, to: block })
  return file ? file.name : `No file with block ${block}`
}

/** Throws where blocks of the range are in no file, with the commands that write them. */
export function requireWhole(files: CryoFolder, range: BlockRange): void {
  const missing = (['logs', 'blocks'] as const).flatMap((dataset) =>
    gapsOf(files[dataset], range).map((gap) => {
      const blocks = gap.from === gap.to ? `block ${gap.from}` : `blocks ${gap.from} to ${gap.to}`
      return `No file has the ${dataset === 'logs' ? 'logs' : 'headers'} of ${blocks}: ${cryoCommand(dataset, gap, files.folder)}`
    }),
  )
  if (missing.length > 0) throw new UsageError([`--files: ${files.folder} lacks blocks.`, ...missing].join('\n'))
}

function gapsOf(files: readonly CryoFile[], range: BlockRange): BlockRange[] {
  const gaps: BlockRange[] = []
  let next = range.from
  for (const { from, to } of overlapping(files, range)) {
    if (from > next) gaps.push({ from: next, to: from - 1 })
    next = to + 1
  }
  if (next <= range.to) gaps.push({ from: next, to: range.to })
  return gaps
}

/** The command that writes the files of the range with all columns that are checked. The end of its range is excluded. */
export function cryoCommand(dataset: CryoDataset, { from, to }: BlockRange, folder: string): string {
  const columns = dataset === 'blocks' ? ` --include-columns ${CHECKED_COLUMNS.join(' ')}` : ''
  return `cryo ${dataset} --blocks ${from}:${to + 1}${columns} --output-dir ${quoted(folder)} --rpc URL`
}

/** As a shell takes it. */
function quoted(folder: string): string {
  const text = inOneLine(folder)
  return /^[\w./~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** Beside those that cryo writes by default: with them the headers are checked. */
const CHECKED_COLUMNS = ['parent_hash', 'logs_bloom']
