/**
 * Histories as files: one for each day of UTC, streamed from ClickHouse, with the numbers that the API answers. A run continues what an
 * earlier one has begun: a day is read again unless it was final then, and no gap of it was closed since.
 */
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { clip, lastCovered, type PoolCoverage, poolCoverage } from '../../market/cache/coverage.ts'
import type { Market } from '../../market/market.ts'
import { formatTime } from '../../query/time.ts'
import type { TimeRange } from '../../query/time-range.ts'
import { readDay } from './day-file.ts'
import {
  differences,
  type ExportedDay,
  emptyManifest,
  type Manifest,
  readManifest,
  withDays,
  writeManifest,
} from './manifest.ts'
import type { ExportRequest } from './request.ts'
import { exportStatement } from './statement.ts'

const DAY: UnixSeconds = 86_400
/** Between manifests while days are short: each is as long as all days. */
const MANIFEST_MS = 2_000
/** No pool has it. */
const EVERY_POOL = { id: '0x' } as const

export type ExportSources = {
  /** Statements are bounded by their own settings, and read only. */
  client: ClickHouseClient
  market: Market
  folder: string
  signal: AbortSignal
}

/** `day`: the newest that is in its file. */
export type ExportProgress = { day: ExportedDay; done: number; days: number; rows: number }

/** The folder holds another export, or there is nothing to export. */
export class ExportRefused extends Error {
  override readonly name = 'ExportRefused'
}

/** `range`: an undefined end is the end of the stored rows. Resolves with the manifest as it is in the folder. */
export async function exportHistory(
  { client, market, folder, signal }: ExportSources,
  request: ExportRequest,
  range: Partial<TimeRange>,
  onDay: (progress: ExportProgress) => void = () => {},
): Promise<Manifest> {
  await mkdir(folder, { recursive: true })
  const fresh = emptyManifest(request)
  const existing = (await readManifest(folder)) ?? fresh
  const other = differences(existing, fresh)
  if (other.length > 0) {
    const is = other.map((field) => `${field} ${existing[field as keyof Manifest]}`).join(', ')
    throw new ExportRefused(`${folder} holds another export (${is}): name another folder.`)
  }
  const byStart = new Map(existing.days.map((day) => [day.from.slice(0, 10), day]))
  const days = daysOf(await storedRange(market, request, range))
  const manifest = () => withDays(fresh, [...byStart.values()])
  let writtenMs = performance.now()
  let rows = 0
  let done = 0
  // The tables read a day while the file of the one before it is written.
  let writing = Promise.resolve()
  const failed = new AbortController()
  const stopped = AbortSignal.any([signal, failed.signal])
  try {
    for (const day of days) {
      signal.throwIfAborted()
      const name = formatTime(day.from).slice(0, 10)
      const before = byStart.get(name)
      const coverage = await coverageOf(market, request)
      const state = stateOf(day, coverage)
      const isKept = before !== undefined && (await isCurrent(before, state, folder))
      const reading = isKept ? async () => before : readExportedDay(name, day, coverage, state)
      const [write] = await Promise.all([reading, writing])
      writing = write().then((exported) => onWritten(name, exported))
      // Without it, Node would end the process for one that fails while the next day is read.
      writing.catch(() => {})
    }
    await writing
  } finally {
    await writing.catch(() => {})
    failed.abort()
    await writeManifest(folder, manifest())
  }
  return manifest()

  async function onWritten(name: string, exported: ExportedDay): Promise<void> {
    byStart.set(name, exported)
    rows += exported.rows
    done++
    onDay({ day: exported, done, days: days.length, rows })
    if (performance.now() - writtenMs < MANIFEST_MS) return
    await writeManifest(folder, manifest())
    writtenMs = performance.now()
  }

  async function readExportedDay(
    name: string,
    day: TimeRange,
    coverage: PoolCoverage,
    state: DayState,
  ): Promise<() => Promise<ExportedDay>> {
    const file = `${name}.${request.format}`
    const write = await readDay(client, exportStatement(request, day, coverage), join(folder, file), stopped)
    return async () => {
      const written = await write()
      return { file: written.rows > 0 ? file : null, ...written, ...state }
    }
  }
}

type DayState = Pick<ExportedDay, 'from' | 'to' | 'final' | 'incomplete'>

function stateOf({ from, to }: TimeRange, coverage: PoolCoverage): DayState {
  const { gaps, finalUntil, backfilled } = coverage
  const incomplete = clip([...gaps, { from: lastCovered(coverage) + 1, to: Number.POSITIVE_INFINITY }], { from, to })
  // Backfills read final blocks only.
  const isBackfilled = backfilled.some(({ fromTime, toTime }) => fromTime <= from && to <= toTime)
  return {
    from: formatTime(from),
    to: formatTime(to),
    final: isBackfilled || (finalUntil !== undefined && to <= finalUntil),
    incomplete: incomplete.map((gap) => ({ from: formatTime(gap.from), to: formatTime(gap.to) })),
  }
}

/** As read before any row, as an answer of the API does it. */
async function coverageOf(market: Market, { network, view }: ExportRequest): Promise<PoolCoverage> {
  const states = await market.states()
  return poolCoverage(states, view?.listing ?? { network, pool: EVERY_POOL, created: undefined })
}

/** The part of a range with stored blocks. */
async function storedRange(market: Market, request: ExportRequest, range: Partial<TimeRange>): Promise<TimeRange> {
  const coverage = await coverageOf(market, request)
  const { ledger } = (await market.states()).get(request.network.name)?.coverage ?? {}
  const starts = [ledger?.time, coverage.backfilled[0]?.fromTime].filter((time) => time !== undefined)
  // From midnight: the first candle may begin before the first block.
  const first = dayOf(Math.min(...starts))
  const from = Math.max(range.from ?? first, first)
  const to = Math.min(range.to ?? Number.POSITIVE_INFINITY, lastCovered(coverage) + 1)
  if (from < to) return { from, to }
  throw new ExportRefused(`Nothing is stored of ${request.network.name} in this range.`)
}

function dayOf(time: UnixSeconds): UnixSeconds {
  return Math.floor(time / DAY) * DAY
}

function daysOf({ from, to }: TimeRange): TimeRange[] {
  const days: TimeRange[] = []
  for (let start = dayOf(from); start < to; start += DAY)
    days.push({ from: Math.max(start, from), to: Math.min(start + DAY, to) })
  return days
}

/** True where nothing has changed since: final then, of the same range with the same gaps, and the file as it was written. */
async function isCurrent(exported: ExportedDay, state: DayState, folder: string): Promise<boolean> {
  const { from, to, final, incomplete } = exported
  if (!final || !isDeepStrictEqual({ from, to, final, incomplete }, state)) return false
  if (exported.file === null) return true
  const found = await stat(join(folder, exported.file)).catch(() => undefined)
  return found?.size === exported.bytes
}
