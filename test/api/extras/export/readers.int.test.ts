/**
 * Exports of a recorded day, read with pandas, polars and DuckDB: the API's numbers to the bit. It needs Python and PyPI, and `SOAK=1`.
 * HISTORY_DAYS=3 does the same with a history of so many million swaps.
 */
import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { exportHistory } from '../../../../api/extras/export/export.ts'
import { type ExportedKind, FILE_FORMATS, type FileFormat } from '../../../../api/extras/export/request.ts'
import { queryRows } from '../../../../api/lib/store.ts'
import { openMarket } from '../../../../api/market/market.ts'
import { inProcessLog } from '../../../../infra/kafka/in-process.ts'
import type { Message } from '../../../../ingest/model/message.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { PoolId } from '../../../../ingest/model/pool.ts'
import { copyFirstDay, storeFirstDay } from '../../../bench/past.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { openVenv } from '../../../support/python.ts'
import { inSoak } from '../../../support/sample.ts'
import { storeDay } from '../../../tour/day.ts'
import { type Service, startService } from '../../service.ts'
import { pagesOf, placed, ticksPath } from './exported.ts'

const HISTORY_DAYS = Number(process.env['HISTORY_DAYS'] ?? 0)
const PACKAGES = ['duckdb==2.0.0', 'numpy==2.4.6', 'pandas==3.1.1', 'polars==2.1.0', 'pyarrow==26.0.1']
const SCRIPT = join(import.meta.dirname, 'read_back.py')
const FORMATS = Object.keys(FILE_FORMATS) as FileFormat[]
const INTERVALS = { '1s': 1, '1m': 60, '1h': 3_600 } as const
const execute = promisify(execFile)

describe.skipIf(withoutClickHouse)('an export that is read back', () => {
  let folder: string
  const opened: { database: TestDatabase; service: Service }[] = []

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'candlepool-readers-'))
  })
  afterAll(async () => {
    for (const { database, service } of opened) {
      await service.stop()
      await database.drop()
    }
    await rm(folder, { recursive: true, force: true })
  })

  async function open(store: (database: TestDatabase) => Promise<void>, clock: () => Date) {
    const database = await freshDatabase()
    await store(database)
    const networks = [NETWORKS.ethereum]
    const service = await startService({ client: database.client, networks, clock })
    opened.push({ database, service })
    const market = openMarket({ reader: database.client, networks, clock, freshMs: 0 })
    return { database, service, market }
  }

  /** The findings of each tool, by format. */
  async function compare(
    python: string,
    { database, service, market }: Awaited<ReturnType<typeof open>>,
    what: ExportedKind,
    interval: keyof typeof INTERVALS,
  ) {
    const reference = join(folder, `${database.database}-${what}-${interval}.ndjson`)
    const rows = await writeReference(reference, database, service, what, interval)
    const found: Partial<Record<FileFormat, unknown>> = {}
    for (const format of FORMATS) {
      const out = join(folder, `${database.database}-${what}-${interval}-${format}`)
      const request = {
        network: NETWORKS.ethereum,
        view: undefined,
        what,
        interval: INTERVALS[interval],
        format,
      } as const
      const sources = { client: database.client, market, folder: out, signal: new AbortController().signal }
      const manifest = await exportHistory(sources, { ...request, price: 'execution' }, {})
      expect(manifest.rows).toBe(rows)
      const { stdout } = await execute(python, [SCRIPT, out, format, reference], { maxBuffer: 2 ** 20 })
      found[format] = JSON.parse(stdout)
      await rm(out, { recursive: true })
    }
    return found
  }

  /** The rows of every pool as the API answers them, in the order of the files: by day, pool and time. Returns how many. */
  async function writeReference(
    path: string,
    { client }: TestDatabase,
    service: Service,
    what: ExportedKind,
    interval: string,
  ): Promise<number> {
    const pools = await queryRows<{ pool: PoolId }>(client, 'SELECT DISTINCT pool FROM ticks ORDER BY pool')
    const asked = (pool: string) =>
      what === 'ticks' ? ticksPath(`pool=${pool}`) : `/v0/candles?pool=${pool}&interval=${interval}&fill=none`
    const time = what === 'ticks' ? 'timestamp' : 'time'
    const byDay = new Map<string, string[]>()
    for (const { pool } of pools) {
      for (const row of placed('ethereum', pool, await pagesOf(service, asked(pool), 0))) {
        const day = String(row[time]).slice(0, 10)
        if (!byDay.get(day)?.push(JSON.stringify(row))) byDay.set(day, [JSON.stringify(row)])
      }
    }
    const file = createWriteStream(path)
    let rows = 0
    for (const day of [...byDay.keys()].sort()) {
      for (const line of byDay.get(day) ?? []) file.write(`${line}\n`)
      rows += byDay.get(day)?.length ?? 0
    }
    await new Promise((resolve) => file.end(resolve))
    return rows
  }

  const EQUAL = { pandas: 'equal', polars: 'equal', duckdb: 'equal' }
  const ALL_EQUAL = Object.fromEntries(FORMATS.map((format) => [format, EQUAL]))

  test('a recorded day has the numbers of the API in every format', inSoak, async ({ skip }) => {
    const venv = await openVenv(PACKAGES)
    if ('unavailable' in venv) return skip(venv.unavailable)
    onTestFinished(venv.remove)
    const log = inProcessLog<Message>({ nextOffset: 0 })
    const day = await open(
      ({ client }) => storeDay(client, log),
      () => new Date('2024-01-06T00:00:10Z'),
    )
    expect(await compare(join(venv.bin, 'python'), day, 'ticks', '1s')).toEqual(ALL_EQUAL)
    expect(await compare(join(venv.bin, 'python'), day, 'candles', '1m')).toEqual(ALL_EQUAL)
  })

  const LONG = [
    ['candles', '1h'],
    ['ticks', '1s'],
  ] as const
  test.skipIf(HISTORY_DAYS === 0).each(LONG)(
    'a long history has them too: %s of %s',
    async (what, interval) => {
      const venv = await openVenv(PACKAGES)
      if ('unavailable' in venv) throw new Error(venv.unavailable)
      onTestFinished(venv.remove)
      const firstTime = Date.UTC(2025, 0, 1) / 1_000
      const shape = { network: 'ethereum', swapsPerBlock: 23, pools: 400, firstTime } as const
      const history = await open(
        async ({ client }) => {
          await storeFirstDay(client, shape)
          await copyFirstDay(client, shape, 1, HISTORY_DAYS)
        },
        () => new Date((firstTime + HISTORY_DAYS * 86_400) * 1_000),
      )
      expect(await compare(join(venv.bin, 'python'), history, what, interval)).toEqual(ALL_EQUAL)
    },
    3_600_000,
  )
})
