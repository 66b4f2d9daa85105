/**
 * A client that pages through 60 days of a pool's minutes, back as charts do and forward as backtests do, one page right after the other; each pool
 * is walked once, so that nothing of it is in memory at its first page. Beside each page the bare query of the same candles to ClickHouse.
 *
 * WALKS (5) each way, DAYS (60) and LIMIT (100) candles a page.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKey } from '../../api/accounts/keys.ts'
import { queryRows, readSql } from '../../api/lib/store.ts'
import { openStore } from '../../infra/clickhouse/store.ts'
import { run } from '../support/candlepool.ts'
import { timeOf } from './bare-insert.ts'
import { figure, quantile, title } from './figure.ts'
import { cpuMs, enginePid } from './load-use.ts'
import { copyFirstDay, storeFirstDay } from './past.ts'
import { poolId } from './synthetic.ts'

const WALKS = Number(process.env['WALKS'] ?? 5)
const DAYS = Number(process.env['DAYS'] ?? 60)
const LIMIT = Number(process.env['LIMIT'] ?? 100)
const DAY = 86_400
const PAGE_SECONDS = LIMIT * 60
const CANDLES = readSql(new URL('../../api/market/candles/candles.sql', import.meta.url))

type Way = 'back' | 'forward'
type Page = { pool: number; from: number; to: number }
type Walked = { ours: number[]; bare: number[]; seconds: number; api: number; engine: number }

const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
const tables = join(folder, 'store')
const store = await openStore({ store: { kind: 'embedded' } }, tables, () => {})
const today = Math.floor(Date.now() / 1_000 / DAY) * DAY
const start = today - DAYS * DAY
const shape = { network: 'ethereum', swapsPerBlock: 2, pools: 2 * WALKS, firstTime: start } as const
await storeFirstDay(store.owner, shape)
await copyFirstDay(store.owner, shape, 1, DAYS, 0)
const key = await createKey({ client: store.owner, plan: 'operator', name: 'walk' })
const engine = await enginePid(tables)
const api = run('api', { NETWORKS: shape.network, DATA_DIR: folder, PORT: '0' })
try {
  const [, port = ''] = await api.untilPrinted(/"port":(\d+)/)
  for (const [at, way] of (['back', 'forward'] as const).entries()) {
    const walks: Walked[] = []
    for (let walk = 0; walk < WALKS; walk++) walks.push(await walkThrough(at * WALKS + walk, way, Number(port)))
    show(way, walks)
  }
} finally {
  await api.stop('SIGTERM')
  await store.close()
  await rm(folder, { recursive: true, force: true })
}
process.exit()

function pagesOf(pool: number, way: Way): readonly Page[] {
  const count = Math.floor((DAYS * DAY) / PAGE_SECONDS)
  const pages = Array.from({ length: count }, (_, at) => {
    const from = start + at * PAGE_SECONDS
    return { pool, from, to: from + PAGE_SECONDS }
  })
  return way === 'back' ? pages.reverse() : pages
}

async function walkThrough(pool: number, way: Way, port: number): Promise<Walked> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const pages = pagesOf(pool, way)
  const before = { api: await cpuMs(api.pid), engine: await cpuMs(engine) }
  const began = performance.now()
  const ours: number[] = []
  for (const page of pages) ours.push(await timeOf(() => ask(page, port, agent)))
  const seconds = (performance.now() - began) / 1_000
  const used = { api: (await cpuMs(api.pid)) - before.api, engine: (await cpuMs(engine)) - before.engine }
  agent.destroy()
  const bare: number[] = []
  for (const page of pages) bare.push(await timeOf(() => askBare(page)))
  return { ours, bare, seconds, ...used }
}

function ask({ pool, from, to }: Page, port: number, agent: Agent): Promise<void> {
  const [first, end] = [from, to].map((second) => new Date(second * 1_000).toISOString())
  const path = `/v0/candles?pool=${poolId(pool)}&interval=1m&limit=${LIMIT}&from=${first}&to=${end}`
  return new Promise((resolve, reject) => {
    const request = get({ port, path, agent, headers: { 'X-API-KEY': key } }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`${path} answered ${answer.statusCode}.`))
      answer.resume().on('end', resolve)
    })
    request.on('error', reject)
  })
}

async function askBare({ pool, from, to }: Page): Promise<void> {
  const place = { network: shape.network, pool: poolId(pool), interval: 60, resolution: 60, price: 'spot' }
  await queryRows(store.owner, CANDLES, { ...place, from, to, limit: LIMIT })
}

function show(way: Way, walks: readonly Walked[]): void {
  const later = walks.flatMap(({ ours }) => ours.slice(1))
  const bare = walks.flatMap((walk) => walk.bare.slice(1))
  const count = walks.reduce((sum, { ours }) => sum + ours.length, 0)
  const sum = (of: 'seconds' | 'api' | 'engine') => walks.reduce((total, walk) => total + walk[of], 0)
  title(`${WALKS} walks ${way} through ${DAYS} days of minutes, ${LIMIT} candles a page, beside ClickHouse alone`)
  figure(
    'the first page, p50',
    quantile(
      walks.map(({ ours }) => ours[0] ?? Number.NaN),
      0.5,
    ),
    'ms',
  )
  figure('later pages, p50', quantile(later, 0.5), 'ms', quantile(bare, 0.5))
  figure('later pages, p95 (2 at the most)', quantile(later, 0.95), 'ms', quantile(bare, 0.95))
  figure('later pages, p99', quantile(later, 0.99), 'ms', quantile(bare, 0.99))
  figure('pages a second', count / sum('seconds'), '1/s')
  figure('CPU of the API', sum('api') / count, 'ms/page')
  figure('CPU of the engine', sum('engine') / count, 'ms/page')
}
