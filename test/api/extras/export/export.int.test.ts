/** Exported files: the numbers of the API, whole files only, continued where they ended. */
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ExportProgress, exportHistory } from '../../../../api/extras/export/export.ts'
import type { Manifest } from '../../../../api/extras/export/manifest.ts'
import { columnsOf, EXPORTED_COLUMNS, type ExportRequest } from '../../../../api/extras/export/request.ts'
import { type Market, openMarket } from '../../../../api/market/market.ts'
import { splitSymbol } from '../../../../api/query/symbol.ts'
import { inProcessLog } from '../../../../infra/kafka/in-process.ts'
import type { RangeOverwrite } from '../../../../ingest/model/message.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { startAggregator } from '../../../aggregator/running.ts'
import { asBlocks, fullBlocks, mine, withOwnTransactions } from '../../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { type Service, startService } from '../../service.ts'
import {
  type AnswerRow,
  DAYS,
  FIRST_SECOND,
  ODD_POOLS,
  pagesOf,
  placed,
  storeOddMarket,
  ticksPath,
} from './exported.ts'

const CLOCK = () => new Date((FIRST_SECOND + DAYS * 86_400) * 1_000)

describe.skipIf(withoutClickHouse)('an export', () => {
  let database: TestDatabase
  let service: Service
  let market: Market
  let folder: string

  beforeAll(async () => {
    database = await freshDatabase()
    await storeOddMarket(database)
    service = await startService({ client: database.client, networks: [NETWORKS.ethereum], clock: CLOCK })
    market = openMarket({ reader: database.client, networks: [NETWORKS.ethereum], clock: CLOCK, freshMs: 0 })
  })
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'candlepool-export-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  const REQUEST: ExportRequest = {
    network: NETWORKS.ethereum,
    view: undefined,
    what: 'ticks',
    interval: 1,
    price: 'execution',
    format: 'ndjson',
  }
  const WITH_FLOW = { what: 'candles', include: ['flow'] } as const
  /** The average price is left to the reader, and the volume in the second token is there once. */
  const exportedRow = ({ volumeQuote, vwap, ...row }: AnswerRow) => row
  async function write(more: Partial<ExportRequest> = {}, range = {}, signal = new AbortController().signal) {
    const told: ExportProgress[] = []
    const sources = { client: database.client, market, folder, signal }
    const manifest = await exportHistory(sources, { ...REQUEST, ...more }, range, (progress) => told.push(progress))
    return { manifest, told }
  }
  const textOf = async ({ days }: Manifest) =>
    (await Promise.all(days.flatMap(({ file }) => (file ? [readFile(join(folder, file), 'utf8')] : [])))).join('')
  const linesOf = async (manifest: Manifest) =>
    (await textOf(manifest))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as AnswerRow)
  const byPool = (rows: readonly AnswerRow[], pool: string) => rows.filter((row) => row['pool'] === pool)

  test.each(['execution', 'spot'] as const)('ticks of all pools are those of the API, %s price', async (price) => {
    const { manifest } = await write({ price })
    const rows = await linesOf(manifest)
    expect(manifest.rows).toBe(rows.length)
    expect(rows.length).toBeGreaterThan(1_000)
    for (const { id } of ODD_POOLS) {
      const answered = await pagesOf(service, ticksPath(`pool=${id}&price=${price}`), 0)
      expect(byPool(rows, id)).toEqual(placed('ethereum', id, answered))
    }
    expect(Object.keys(rows[0] ?? {})).toEqual(EXPORTED_COLUMNS.ticks.map(({ name }) => name))
  })

  test.each([
    [1, '1s'],
    [45, '45s'],
    [420, '7m'],
    [3_600, '1h'],
    [10_800, '3h'],
    [50_400, '14h'],
    [86_400, '1d'],
  ])('candles of %s s are those of the API, with their flow', async (interval, written) => {
    const price = interval % 2 === 0 ? 'spot' : 'execution'
    const { manifest } = await write({ ...WITH_FLOW, interval, price })
    const rows = await linesOf(manifest)
    expect(rows.length).toBeGreaterThan(2)
    for (const { id, token0, token1 } of ODD_POOLS) {
      const path = `/v0/candles?pool=${id}&interval=${written}&fill=none&price=${price}&include=flow`
      const answered = await pagesOf(service, path, 0)
      const exported = byPool(rows, id)
      expect(exported.map(({ pair, ...row }) => row)).toEqual(placed('ethereum', id, answered.map(exportedRow)))
      expect(new Set(exported.map(({ pair }) => pair))).toEqual(new Set([`${token0.symbol}-${token1.symbol}`]))
    }
    expect(Object.keys(rows[0] ?? {})).toEqual(columnsOf(WITH_FLOW).map(({ name }) => name))
  })

  test.each(ODD_POOLS)('the inverse direction of pool $id is that of the API', async ({ id, token0, token1 }) => {
    const text = `${token1.symbol}-${token0.symbol}`
    const symbol = { text, splits: splitSymbol(text) }
    const limits = { limit: 1, price: 'execution' } as const
    const { view } = await market.ticks({ symbol, pool: id, from: { seconds: 0, fraction: '' }, ...limits })
    expect(view.forward).toBe(false)
    const asked = `pool=${id}&symbol=${encodeURIComponent(text)}`
    const ticks = await write({ view })
    const answered = await pagesOf(service, ticksPath(asked), 0)
    expect(await linesOf(ticks.manifest)).toEqual(placed('ethereum', id, answered))
    await rm(folder, { recursive: true })
    const candles = await write({ view, ...WITH_FLOW, interval: 3_600 })
    const asOne = await pagesOf(service, `/v0/candles?${asked}&interval=1h&fill=none&include=flow`, 0)
    const rows = (await linesOf(candles.manifest)).map(({ pair, ...row }) => row)
    expect(rows).toEqual(placed('ethereum', id, asOne.map(exportedRow)))
    expect(candles.manifest.pair).toBe(text)
  })

  test('CSV keeps symbols in their cells, and gives a spreadsheet no formula', async () => {
    const { manifest } = await write({ format: 'csv' }, { to: FIRST_SECOND + 3_600 })
    const text = await textOf(manifest)
    expect(text).toContain(`"'=1+1","a,""b""\nc"`)
    expect(text).toContain(`"'-2+3","O'Ne\\t"`)
    expect(text).toContain(`"DÜST🦄","'@sum"`)
    expect(text).not.toMatch(/(^|,)"?[=@]/m)
    expect(text).not.toContain('\\N')
  })

  test('the manifest has the digest, size and completeness of each file', async () => {
    const { manifest, told } = await write()
    expect(manifest.days.map(({ file }) => file)).toEqual(
      ['2024-01-31', '2024-02-01', '2024-02-02'].map((day) => `${day}.ndjson`),
    )
    expect(manifest).toEqual(JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')))
    for (const { file, bytes, sha256, rows } of manifest.days) {
      const data = await readFile(join(folder, file ?? ''))
      expect(data.length).toBe(bytes)
      expect(createHash('sha256').update(data).digest('hex')).toBe(sha256)
      expect(data.toString().trimEnd().split('\n')).toHaveLength(rows)
    }
    expect(manifest.days.map(({ final, incomplete }) => ({ final, incomplete }))).toEqual([
      { final: true, incomplete: [{ from: '2024-01-31T00:00:00Z', to: '2024-01-31T22:00:00Z' }] },
      { final: true, incomplete: [] },
      { final: false, incomplete: [] },
    ])
    expect(told.map(({ done, days }) => `${done}/${days}`)).toEqual(['1/3', '2/3', '3/3'])
  })

  test('a run continues an earlier one: final days stay, missing and shortened files are made again', async () => {
    const range = { to: FIRST_SECOND + 86_400 }
    const first = await write({}, range)
    const names = first.manifest.days.map(({ file }) => join(folder, file ?? ''))
    const [one = '', two = ''] = names
    const before = await stat(one)
    await truncate(two, 100)
    await writeFile(`${two}.partial`, 'of a process that was killed')
    const second = await write()
    expect((await stat(one)).mtimeMs).toBe(before.mtimeMs)
    expect(second.manifest.days[0]).toEqual(first.manifest.days[0])
    const whole = await linesOf(second.manifest)
    await rm(one)
    expect(await linesOf((await write()).manifest)).toEqual(whole)
    expect(await readdir(folder)).toEqual(
      [...new Set([...names.map((name) => name.slice(folder.length + 1)), '2024-02-02.ndjson'])]
        .concat('manifest.json')
        .sort(),
    )
  })

  test('a folder with another export is refused', async () => {
    await write({}, { to: FIRST_SECOND + 60 })
    await expect(write({ price: 'spot' })).rejects.toThrow('holds another export (price execution)')
    await expect(write({ what: 'candles', interval: 60 })).rejects.toThrow('what ticks, interval null')
    await writeFile(join(folder, 'manifest.json'), '{"version": 9}')
    await expect(write()).rejects.toThrow('not a manifest of this version')
  })

  test('a full disk leaves no file, and the days before it stay', async () => {
    await symlink('/dev/full', join(folder, '2024-02-01.ndjson.partial'))
    await expect(write()).rejects.toThrow(/ENOSPC/)
    expect(await readdir(folder)).toEqual(['2024-01-31.ndjson', 'manifest.json'])
    const { manifest } = await write()
    expect(manifest.days).toHaveLength(3)
  })

  test('a stopped run keeps its days', async () => {
    const stopping = new AbortController()
    const sources = { client: database.client, market, folder, signal: stopping.signal }
    await expect(exportHistory(sources, REQUEST, {}, () => stopping.abort())).rejects.toThrow(/abort/i)
    const held = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as Manifest
    expect(held.days).toHaveLength(1)
    expect((await write()).manifest.days).toHaveLength(3)
  })

  test('a range without anything stored is refused, and one without trades has no file', async () => {
    await expect(write({}, { to: FIRST_SECOND - 86_400 })).rejects.toThrow(
      'Nothing is stored of ethereum in this range.',
    )
    const { manifest } = await write({}, { to: FIRST_SECOND + 1 })
    expect(manifest.days).toMatchObject([{ file: null, rows: 0, bytes: 0 }])
    expect(await readdir(folder)).toEqual(['manifest.json'])
  })
})

describe.skipIf(withoutClickHouse)('an export of blocks that are not final', () => {
  test('is read again, and follows a reorg', async () => {
    const database = await freshDatabase()
    const folder = await mkdtemp(join(tmpdir(), 'candlepool-export-'))
    const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
    const running = await startAggregator(database.client, { network: 'ethereum', history })
    const chain = mine([], withOwnTransactions(fullBlocks(30, 1), 'first'))
    const fork = mine(chain.slice(0, 10), withOwnTransactions(fullBlocks(25, 2), 'fork'), 'fork')
    const clock = () => new Date(((fork.at(-1)?.timestamp ?? 0) + 1) * 1_000)
    const networks = [NETWORKS.ethereum]
    const service = await startService({ client: database.client, networks, clock })
    const market = openMarket({ reader: database.client, networks, clock, freshMs: 0 })
    const write = () =>
      exportHistory(
        { client: database.client, market, folder, signal: new AbortController().signal },
        {
          network: NETWORKS.ethereum,
          view: undefined,
          what: 'ticks',
          interval: 1,
          price: 'execution',
          format: 'ndjson',
        },
        {},
      )
    const ids = async ({ days }: Manifest) =>
      (await Promise.all(days.map(({ file }) => (file ? readFile(join(folder, file), 'utf8') : '')))).flatMap((text) =>
        text.split('\n').flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as AnswerRow)['id']])),
      )
    try {
      await running.append(asBlocks('ethereum', chain))
      const before = await ids(await write())
      await running.append(asBlocks('ethereum', fork.slice(10)))
      const manifest = await write()
      const after = await ids(manifest)
      expect(manifest.days.every(({ final }) => !final)).toBe(true)
      expect(after).not.toEqual(before)
      expect(after.toSorted()).toEqual(
        fork.flatMap(({ ticks }) => ticks.map((tick) => `${tick.transactionHash}-${tick.logIndex}`)).toSorted(),
      )
    } finally {
      await running.stop()
      await service.stop()
      await database.drop()
      await rm(folder, { recursive: true, force: true })
    }
  })
})
