/** The manifest of an export: the content of its files, their completeness, and the state from which a later run continues. */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { NETWORK_NAMES } from '../../../ingest/model/network.ts'
import { viewPair } from '../../market/model/orientation.ts'
import { PAIR_PRICES } from '../../query/query.ts'
import { columnsOf, EXPORTED_KINDS, type ExportRequest, FILE_FORMATS, type FileFormat } from './request.ts'

const time = z.iso.datetime({ precision: 0 })
const range = z.strictObject({ from: time, to: time })
const formats = Object.keys(FILE_FORMATS) as FileFormat[]

const Day = z.strictObject({
  /** Null where there are no rows. */
  file: z.string().nullable(),
  from: time,
  to: time,
  rows: z.int(),
  bytes: z.int(),
  sha256: z.string(),
  /** No reorg can change it any more. */
  final: z.boolean(),
  /** Time that is not stored: rows may be missing there. */
  incomplete: z.array(range),
})
export type ExportedDay = z.output<typeof Day>

const Manifest = z.object({
  version: z.literal(1),
  network: z.enum(NETWORK_NAMES),
  /** Null: all pools. */
  pool: z.string().nullable(),
  /** The direction of prices; null: each pool's own order. */
  pair: z.string().nullable(),
  what: z.enum(EXPORTED_KINDS),
  /** Seconds; null for ticks. */
  interval: z.int().nullable(),
  price: z.enum(PAIR_PRICES),
  format: z.enum(formats),
  columns: z.array(z.object({ name: z.string(), type: z.string(), unit: z.string().optional() })),
  rows: z.int(),
  bytes: z.int(),
  /** Oldest first. */
  days: z.array(Day),
})
export type Manifest = z.output<typeof Manifest>

export const MANIFEST_FILE = 'manifest.json'

/** Without days. */
export function emptyManifest(request: ExportRequest): Manifest {
  const { network, view, what, interval, price, format } = request
  return {
    version: 1,
    network: network.name,
    pool: view?.listing.pool.id ?? null,
    pair: view ? viewPair(view).join('-') : null,
    what,
    interval: what === 'candles' ? interval : null,
    price,
    format,
    columns: [...columnsOf(request)],
    rows: 0,
    bytes: 0,
    days: [],
  }
}

/** Undefined where the folder has none. Throws where it has one that this version cannot read. */
export async function readManifest(folder: string): Promise<Manifest | undefined> {
  const path = join(folder, MANIFEST_FILE)
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  try {
    return Manifest.parse(JSON.parse(text))
  } catch (cause) {
    throw new Error(`${path} is not a manifest of this version: export into another folder.`, { cause })
  }
}

/** The fields in which two exports differ; with any of these they cannot share a folder. */
export function differences(one: Manifest, other: Manifest): string[] {
  const fields = ['network', 'pool', 'pair', 'what', 'interval', 'price', 'format'] as const
  const names = ({ columns }: Manifest) => columns.map(({ name }) => name).join()
  return [...fields.filter((field) => one[field] !== other[field]), ...(names(one) === names(other) ? [] : ['columns'])]
}

export function withDays(manifest: Manifest, days: readonly ExportedDay[]): Manifest {
  const rows = days.reduce((sum, day) => sum + day.rows, 0)
  const bytes = days.reduce((sum, day) => sum + day.bytes, 0)
  return { ...manifest, rows, bytes, days: days.toSorted((one, other) => (one.from < other.from ? -1 : 1)) }
}

export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const path = join(folder, MANIFEST_FILE)
  await writeFile(`${path}.partial`, `${JSON.stringify(manifest, undefined, 1)}\n`, { flush: true })
  await rename(`${path}.partial`, path)
}
