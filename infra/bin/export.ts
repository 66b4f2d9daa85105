/** `npm run export`: histories as files for pandas, polars, DuckDB and spreadsheets, beside a running process or alone. */
import { rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type ExportProgress, ExportRefused, exportHistory } from '../../api/extras/export/export.ts'
import type { ExportedDay } from '../../api/extras/export/manifest.ts'
import { EXPORTED_KINDS, type ExportRequest, FILE_FORMATS, type FileFormat } from '../../api/extras/export/request.ts'
import { Problem } from '../../api/lib/problem.ts'
import { type Market, openMarket } from '../../api/market/market.ts'
import { readQuery } from '../../api/query/parameters.ts'
import {
  type CandleQuery,
  CandleShape,
  type PairPrice,
  pairPrice,
  type TickQuery,
  TickShape,
} from '../../api/query/query.ts'
import { wholeSecond } from '../../api/query/time.ts'
import { NETWORK_NAMES, type Network, type NetworkName } from '../../ingest/model/network.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import type { Store } from '../clickhouse/store.ts'
import type { Config } from '../config/config.ts'
import { currentStoreFolder, savedDevnetNetwork } from '../config/folders.ts'
import { configuredNetwork } from '../config/networks.ts'
import { barOf, durationOf } from '../jobs/progress.ts'
import { FolderInUse, LOCKS_FOLDER, lockFolder } from '../lib/folder-lock.ts'
import { printProgress } from '../lib/output.ts'
import { UsageError } from '../lib/usage-error.ts'
import { print, progressPrinter } from '../process/command.ts'
import { withTables } from '../process/deployment.ts'
import { commandLine, type Help, networkOf, optionsOf, usageOf } from '../process/help.ts'
import { type Run, runProcess } from '../process/run.ts'

const FORMATS = Object.keys(FILE_FORMATS) as FileFormat[]
const HELP: Help = {
  does: 'Writes ticks or candles into files, one for each day of UTC, with a manifest. The same command continues an export, and brings it up to date.',
  usage: [
    'npm run export -- --network NAME (--pool ADDRESS_OR_ID | --symbol A-B | --all) --what ticks|candles [--interval 1m]',
    '                  [--from TIME] [--to TIME] [--price execution|spot] [--include flow] [--format parquet|csv|ndjson|arrow] --out DIR',
  ],
  options: [
    ['--network NAME', NETWORK_NAMES.join(', ')],
    ['--pool ADDRESS_OR_ID', 'one pool, in its own order, or in that of --symbol'],
    ['--symbol A-B', 'the lead pool of a pair over the whole range'],
    ['--all', 'all pools, each in its own order'],
    ['--what KIND', EXPORTED_KINDS.join(' or ')],
    ['--interval WIDTH', 'of candles: 45s, 7m, 4h, 1d'],
    ['--from TIME', 'at it or later: 2024-01-05 or 2024-01-05T00:00:00Z; the first that is stored if not given'],
    ['--to TIME', 'before it; the newest that is stored if not given'],
    ['--price KIND', 'execution or spot (execution)'],
    ['--include flow', 'of candles: buys, sells, volumes of both tokens and in dollars'],
    ['--format NAME', `${FORMATS.join(', ')} (parquet)`],
    ['--out DIR', 'the folder of this export'],
  ],
  examples: [
    'npm run export -- --network ethereum --symbol WETH-USDC --what candles --interval 1m --out weth-usdc',
    'npm run export -- --network base --all --what ticks --from 2026-01-01 --format arrow --out base-ticks',
  ],
}

type ExportCommand = Pick<ExportRequest, 'what' | 'interval' | 'format' | 'include'> & {
  network: NetworkName
  isAll: boolean
  query: NamedRange
  folder: string
}

type NamedRange = Omit<TickQuery, 'include' | 'price'> & { price: PairPrice }

const request = commandLine(HELP, readRequest)
await runProcess(async (run) => {
  const release = await lockExport(request.folder)
  try {
    await withTables(run.deployment, (store) => writeFiles(store, run))
  } finally {
    await release()
  }
})

/** Two runs into one folder would write the same files. */
async function lockExport(folder: string): Promise<() => Promise<void>> {
  const lock = await lockFolder(folder).catch((error: unknown) => {
    if (error instanceof FolderInUse) throw new UsageError(`Process ${error.pid} exports into ${folder}.`)
    throw error
  })
  return async () => {
    await lock.release()
    await rmdir(join(folder, LOCKS_FOLDER)).catch(() => undefined)
  }
}

async function writeFiles(store: Store, { config, signal }: Run): Promise<void> {
  const network = await networkOfStore(config)
  const market = openMarket({ reader: store.reader, networks: [network], clock: () => new Date(), freshMs: 0 })
  const { what, interval, include, format, query, folder } = request
  const { price, from, to } = query
  const range = { ...(from && { from: wholeSecond(from) }), ...(to && { to: wholeSecond(to) }) }
  try {
    const view = await viewOf(market)
    const onDay = progressOf()
    const exported = { network, view, what, interval, price, format, ...(include && { include }) }
    const { days } = await exportHistory({ client: store.owner, market, folder, signal }, exported, range, onDay)
    const rows = days.reduce((sum, day) => sum + day.rows, 0)
    const count = (of: (day: ExportedDay) => boolean) => days.filter(of).length
    const [open, incomplete] = [count((day) => !day.final), count((day) => day.incomplete.length > 0)]
    const note = `${open} not final yet, ${incomplete} with time that is not stored`
    print(`${folder}: ${rows.toLocaleString('en')} rows of ${days.length} days, ${note}.`)
  } catch (error) {
    if (signal.aborted) return print(`Stopped. The same command continues.`)
    if (error instanceof ExportRefused) throw new UsageError(error.message)
    throw error
  }
}

async function networkOfStore(config: Config): Promise<Network> {
  const folder = config.chain.kind === 'devnet' ? await currentStoreFolder(config) : undefined
  const devnet = folder === undefined ? undefined : await savedDevnetNetwork(folder)
  if (devnet?.name === request.network) return devnet
  return configuredNetwork(config, request.network)?.network ?? NETWORKS[request.network]
}

/** The pool and direction in which the API would answer this range. */
async function viewOf(market: Market): Promise<ExportRequest['view']> {
  if (request.isAll) return undefined
  const { symbol, pool, from, to, price } = request.query
  const named = { symbol, pool, networks: [request.network], price }
  const since = from ?? { seconds: 0, fraction: '' }
  const { view } = await market.ticks({ ...named, from: since, to, limit: 1 })
  return view
}

function progressOf(): (progress: ExportProgress) => void {
  const began = performance.now()
  const printLine = progressPrinter()
  return ({ day, done, days, rows }) => {
    const seconds = Math.max((performance.now() - began) / 1_000, 0.001)
    const left = done === days ? 'done' : `${durationOf(((days - done) * seconds) / done)} left`
    const speed = `${Math.round(rows / seconds).toLocaleString('en')} rows/s`
    const line = `${barOf(done / days)} ${done} of ${days} days  ${day.from.slice(0, 10)}  ${speed}  ${left}`
    if (process.stderr.isTTY) printProgress(line, done === days, process.stderr)
    else printLine(line)
  }
}

function readRequest(): ExportCommand {
  const text = { type: 'string' } as const
  const options = { symbol: text, pool: text, interval: text, from: text, to: text, price: text, include: text }
  const { network, all, what, format, out, ...parameters } = optionsOf(HELP, {
    ...options,
    network: text,
    what: text,
    format: { type: 'string', default: 'parquet' },
    out: text,
    all: { type: 'boolean', default: false },
  })
  const problems: string[] = []
  const kind = EXPORTED_KINDS.find((one) => one === what)
  const form = FORMATS.find((one) => one === format)
  const isNamed = parameters.symbol !== undefined || parameters.pool !== undefined
  if (!kind) problems.push(`--what is none of ${EXPORTED_KINDS.join(', ')}`)
  if (!form) problems.push(`--format is none of ${FORMATS.join(', ')}`)
  if (out === undefined || out.trim() === '') problems.push('--out is missing')
  if (all === isNamed) problems.push('one of --pool, --symbol and --all is needed, and --all stands alone')
  const query = readShape(kind, parameters, problems)
  if (!kind || !form || !out || !query || problems.length > 0)
    throw new UsageError([...problems, usageOf(HELP)].join('\n'))
  const { interval = 1, include = [] } = query
  return {
    network: networkOf(HELP, network),
    isAll: all,
    what: kind,
    interval,
    include,
    format: form,
    query,
    folder: out,
  }
}

type Parameters = Readonly<Record<string, string | undefined>>

/** By the rules of the API's parameters. */
function readShape(
  kind: ExportCommand['what'] | undefined,
  values: Parameters,
  problems: string[],
): (NamedRange & Partial<Pick<CandleQuery, 'interval' | 'include'>>) | undefined {
  const given = new Map(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, [value]]])),
  )
  try {
    if (kind === 'candles') return readQuery(CandleShape.extend({ price: pairPrice }), given)
    const { include, ...query } = readQuery(TickShape.extend({ price: pairPrice }), given)
    if (include) problems.push('--include adds columns to candles: ticks have all of them')
    return query
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    problems.push(...(error.errors ?? []).map(({ field, message }) => `--${field} ${message}`))
    return undefined
  }
}
