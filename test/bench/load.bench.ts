/**
 * The API under load: ten million ticks of a thousand pools, written to every two seconds, asked as users ask (load-questions.ts) while
 * `npm run api` answers as a process of its own. First one question at a time on a kept connection, by a clock of microseconds (that of
 * autocannon's connections counts the time in its own queue too); then from 1, 32 and 256 connections, each kind of question alone and in
 * a mix. Beside them the query of the same candles to ClickHouse itself, through its client, in the same run.
 *
 * SECONDS (60) of each round, DAYS (10, of a million ticks), QUESTIONS, PARTS, CONNECTIONS and KINDS choose what is run; LOAD_DIR keeps the tables
 * for the next time.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import { createKey } from '../../api/accounts/keys.ts'
import { queryRows, readSql } from '../../api/lib/store.ts'
import { gridOf } from '../../api/market/candles/candles.ts'
import { resolutionOf } from '../../api/market/model/windows.ts'
import { parseInterval } from '../../api/query/interval.ts'
import { connect } from '../../infra/clickhouse/client/client.ts'
import { findEngine } from '../../infra/clickhouse/engine/engine-access.ts'
import { openStore } from '../../infra/clickhouse/store.ts'
import { type Running, run } from '../support/candlepool.ts'
import { timeOf } from './bare-insert.ts'
import { figure, quantile, title } from './figure.ts'
import { BUCKETS, candles, drawer, KINDS, type Kind, type Question } from './load-questions.ts'
import { loadFrom } from './load-rounds.ts'
import { mergeHistory, startWriter, storePast } from './load-store.ts'
import { cpuMs, megabytes } from './load-use.ts'
import { poolId } from './synthetic.ts'

const SECONDS = Number(process.env['SECONDS'] ?? 60)
const DAYS = Number(process.env['DAYS'] ?? 10)
const POOLS = 1_000
const CONNECTIONS = (process.env['CONNECTIONS'] ?? '1,32,256').split(',').map(Number)
const ASKED = (process.env['KINDS'] ?? KINDS.join(',')).split(',').filter(isKind)
/** Different ones, asked again and again where there is time for more. */
const QUESTIONS = Number(process.env['QUESTIONS'] ?? 20_000)
/** A key of an operator has a million credits a minute; the hottest pool's day-long candles cost hundreds each. */
const KEYS = 32
const AT_ONCE = 32
/** No stored candle but those of a second divides it. */
const WORST = '86399s'

const CANDLES = readSql(new URL('../../api/market/candles/candles.sql', import.meta.url))

const kept = process.env['LOAD_DIR']
const folder = kept ?? (await mkdtemp(join(tmpdir(), 'candlepool-bench-')))
const tables = join(folder, 'store')
const store = await openStore({ store: { kind: 'embedded' } }, tables, () => {})
const shape = await storePast(store.owner, DAYS, POOLS)
const writer = await startWriter(store.owner, shape)
await mergeHistory(store.owner)
const bare = await connectBare()
const [ticks = 0] = (await queryRows<{ n: string }>(store.owner, 'SELECT count() AS n FROM ticks')).map(({ n }) =>
  Number(n),
)
const keys = await Promise.all(
  Array.from({ length: KEYS }, (_, index) =>
    createKey({ client: store.owner, plan: 'operator', name: `load ${index}` }),
  ),
)
const [key = ''] = keys
const draw = drawer(1, { pools: POOLS, hours: DAYS * 24 })
const drawn = (kind: Kind, count: number) => Array.from({ length: count }, () => draw(kind))

const PARTS: Readonly<Record<string, () => Promise<void>>> = {
  cold,
  worst,
  now: () => oneAtATime('now', 'to = now'),
  closed: () => oneAtATime('closed', 'a closed range'),
  bare: bareAtOnce,
  rounds,
}
const api = await startApi()
try {
  for (const part of (process.env['PARTS'] ?? Object.keys(PARTS).join(',')).split(',')) await PARTS[part]?.()
} finally {
  await stopApi()
  await writer.stop()
  await bare.close()
  await store.close()
  if (kept === undefined) await rm(folder, { recursive: true, force: true })
}
process.exit()

/** The first question for each pool after a start. */
async function cold(): Promise<void> {
  const { ask, close } = asker()
  const order = drawn('now', POOLS).map(({ candles: asked }, pool) =>
    candles({ pool, interval: asked?.interval ?? '1m' }),
  )
  const ours: number[] = []
  const floor: number[] = []
  for (const question of order) {
    ours.push(await timeOf(() => ask(question.path)))
    floor.push(await timeOf(() => askBare(question)))
  }
  close()
  title(
    `/candles of ${POOLS} pools, ${ticks.toLocaleString('en')} ticks, each pool for the first time since the API's start`,
  )
  figure('cold, p50', quantile(ours, 0.5), 'ms', quantile(floor, 0.5))
  figure('cold, p95 (12 at the most)', quantile(ours, 0.95), 'ms', quantile(floor, 0.95))
}

/** Whatever is held of the seconds of months is too much to hold. */
async function worst(): Promise<void> {
  const { ask, close } = asker()
  const question = candles({ pool: 0, interval: WORST })
  const ours: number[] = []
  const floor: number[] = []
  for (let round = 0; round < 20; round++) {
    ours.push(await timeOf(() => ask(question.path)))
    floor.push(await timeOf(() => askBare(question)))
  }
  close()
  title(`the worst question that may be asked: ${BUCKETS} candles of ${WORST} of the hottest pool`)
  figure('p50', quantile(ours, 0.5), 'ms', quantile(floor, 0.5))
  figure('slowest of 20 (400 at the most)', Math.max(...ours), 'ms', Math.max(...floor))
}

async function oneAtATime(kind: Kind, what: string): Promise<void> {
  const { ask, close } = asker()
  const questions = drawn(kind, Math.min(QUESTIONS, 2_000))
  for (const { path } of questions) await ask(path)
  const ours: number[] = []
  for (const end = performance.now() + Math.min(SECONDS, 20) * 1_000; performance.now() < end; ) {
    for (const { path } of questions) ours.push(await timeOf(() => ask(path)))
  }
  close()
  const floor: number[] = []
  for (const question of questions.slice(0, 500)) floor.push(await timeOf(() => askBare(question)))
  title(`/candles, ${BUCKETS} buckets, ${what}, one at a time, warm`)
  figure('p50 (1 at the most)', quantile(ours, 0.5), 'ms', quantile(floor, 0.5))
  figure('p95 (2.4 at the most)', quantile(ours, 0.95), 'ms', quantile(floor, 0.95))
  figure('p99', quantile(ours, 0.99), 'ms', quantile(floor, 0.99))
}

async function bareAtOnce(): Promise<void> {
  title(`ClickHouse itself, asked for the same candles, ${AT_ONCE} at a time`)
  for (const kind of ['now', 'closed'] as const) {
    const times: number[] = []
    const began = performance.now()
    const until = began + Math.min(SECONDS, 15) * 1_000
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (performance.now() < until) times.push(await timeOf(() => askBare(draw(kind))))
      }),
    )
    const seconds = (performance.now() - began) / 1_000
    figure(`${kind}, questions a second`, times.length / seconds, '1/s')
    figure(`${kind}, p95`, quantile(times, 0.95), 'ms')
  }
}

async function rounds(): Promise<void> {
  const widths = [12, 6, 9, 9, 9, 9, 9, 7, 7, 9, 9]
  const row = (...cells: readonly string[]) =>
    console.log(cells.map((cell, at) => cell.padStart(widths[at] ?? 9)).join(' '))
  const number = (value: number) => (value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2))
  console.log(
    `\n${SECONDS} s each; latencies in ms; of the API's process CPU in ms an answer, and memory in MB at the end`,
  )
  row('questions', 'conns', '1/s', 'p50', 'p95', 'p99', 'answers', 'errors', '503s', 'CPU', 'memory')
  row('before', '', '', '', '', '', '', '', '', '', number(await megabytes(api.process.pid)))
  for (const kind of ASKED) {
    const questions = drawn(kind, QUESTIONS).map(({ path }, index) => ({ path, key: keys[index % KEYS] ?? key }))
    for (const connections of CONNECTIONS) {
      const cpu = await cpuMs(api.process.pid)
      const loaded = await loadFrom({ url: api.url, seconds: SECONDS, connections, questions })
      const { perSecond, p50, p95, p99, statuses, errors } = loaded
      const { 200: answers = 0, 503: refused = 0, ...others } = statuses
      const failed = errors + Object.values(others).reduce((sum, count) => sum + count, 0)
      const counts = [answers, failed, refused].map((count) => count.toLocaleString('en'))
      const ofApi = [((await cpuMs(api.process.pid)) - cpu) / answers, await megabytes(api.process.pid)]
      row(kind, String(connections), ...[perSecond, p50, p95, p99].map(number), ...counts, ...ofApi.map(number))
    }
  }
}

/** One question after the other on one kept connection. */
function asker(): { ask(path: string): Promise<void>; close(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const headers = { 'X-API-KEY': key }
  const ask = (path: string) =>
    new Promise<void>((resolve, reject) => {
      const request = get(`${api.url}${path}`, { agent, headers }, (answer) => {
        if (answer.statusCode !== 200) reject(new Error(`${path} answered ${answer.statusCode}.`))
        answer.resume().on('end', resolve)
      })
      request.on('error', reject)
    })
  return { ask, close: () => agent.destroy() }
}

async function askBare({ candles: asked }: Question): Promise<void> {
  if (!asked) throw new Error('Only candles are asked for without the API.')
  const interval = parseInterval(asked.interval) ?? Number.NaN
  const to = asked.to ?? Math.ceil(Date.now() / 1_000)
  const range = gridOf({ from: to - interval * BUCKETS, to }, interval)
  const pool = poolId(asked.pool)
  const parameters = {
    network: shape.network,
    pool,
    interval,
    resolution: resolutionOf(interval),
    price: 'execution',
    ...range,
    limit: BUCKETS,
  }
  await queryRows(bare, CANDLES, parameters)
}

/** As the API has it, but with a connection for each question under way. */
async function connectBare(): Promise<ClickHouseClient> {
  const engine = await findEngine(tables)
  if (!engine) throw new Error(`No engine answers in ${tables}.`)
  return connect({ ...engine, ...engine.users.api, maxOpenConnections: AT_ONCE })
}

type Api = { process: Running; url: string }

async function startApi(): Promise<Api> {
  const started = run('api', { NETWORKS: shape.network, DATA_DIR: folder, PORT: '0' })
  const [, port = ''] = await started.untilPrinted(/"port":(\d+)/)
  return { process: started, url: `http://127.0.0.1:${port}` }
}

/** It says only what went wrong. */
async function stopApi(): Promise<void> {
  await api.process.stop('SIGTERM')
  const said = api.process
    .output()
    .split('\n')
    .filter((line) => /"level":[56]0/.test(line))
  for (const line of said.slice(0, 5)) console.error(line)
}

function isKind(text: string): text is Kind {
  return KINDS.some((kind) => kind === text)
}
