/**
 * Four analysts at SQL_PORT with the heaviest statements that it runs, each again as soon as it has ended: how long an answer of `/v0/candles` and the
 * insert of a block take beside them. The floor is the same without the analysts, in alternating rounds of the same run.
 *
 * ROUNDS (4) of each, REQUESTS (60) in a round, DAYS (2, of a million ticks); LOAD_DIR keeps the tables for the next time.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { aggregate } from '../../aggregator/aggregate.ts'
import { ask } from '../../aggregator/store/store.ts'
import { createKey } from '../../api/accounts/keys.ts'
import { readTips } from '../../api/market/model/tip.ts'
import { SQL_USER, startSqlPort } from '../../infra/clickhouse/sql-port/sql-port.ts'
import { openStore } from '../../infra/clickhouse/store.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import type { Message } from '../../ingest/model/message.ts'
import { asker, run } from '../support/candlepool.ts'
import { figure, quantile, title } from './figure.ts'
import { drawer } from './load-questions.ts'
import { startWriter, storePast } from './load-store.ts'
import { blockMessage, type Shape } from './synthetic.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 4)
const REQUESTS = Number(process.env['REQUESTS'] ?? 60)
const DAYS = Number(process.env['DAYS'] ?? 2)
const POOLS = 1_000

/** Processor alone; all columns of all ticks; a sort of more than the memory; a join that grows. */
const STATEMENTS = [
  'SELECT count() FROM numbers(100000000000) WHERE sipHash64(number) = sipHash64(number + 1)',
  'SELECT pool, uniqExact(transaction_hash), quantileExact(price), max(amount_usd) FROM market_ticks GROUP BY pool FORMAT Null',
  'SELECT * FROM market_ticks ORDER BY sipHash64(transaction_hash) FORMAT Null',
  'SELECT count() FROM market_candles AS a JOIN market_candles AS b USING (time) WHERE a.close > b.close',
]

type Times = { fromMemory: number[]; read: number[]; inserted: number[] }

const kept = process.env['LOAD_DIR']
const folder = kept ?? (await mkdtemp(join(tmpdir(), 'candlepool-bench-')))
const stopping = new AbortController()
const { signal } = stopping
const store = await openStore({ store: { kind: 'embedded' } }, join(folder, 'store'), () => {})
if (!store.engine) throw new Error('There is no embedded engine.')
const { engine } = store
const sql = await startSqlPort({ engine, host: '127.0.0.1', port: 0, signal })
const past = await storePast(store.owner, DAYS, POOLS)
const writer = await startWriter(store.owner, past)
const key = await createKey({ client: store.owner, plan: 'operator', name: 'sql' })
const api = run('api', { NETWORKS: past.network, DATA_DIR: folder, PORT: '0' })
const shape: Shape = { ...past, network: 'base' }
const log = inProcessLog<Message>({ nextOffset: 0 })
const position = { generation: 0, offset: 0 }
const aggregating = aggregate(store.owner, { network: 'base', log, position, report: () => {}, signal })
let number = 1 + ((await readTips(store.owner, ['base'])).get('base')?.number ?? 0)
const statements = { answered: 0, refused: 0, running: [] as number[] }
try {
  const [, port = ''] = await api.untilPrinted(/"port":(\d+)/)
  const get = asker(`http://127.0.0.1:${port}`, key)
  const draw = drawer(1, { pools: POOLS, hours: DAYS * 24 })
  const alone: Times = { fromMemory: [], read: [], inserted: [] }
  const beside: Times = { fromMemory: [], read: [], inserted: [] }
  await round({ fromMemory: [], read: [], inserted: [] })
  for (let at = 0; at < ROUNDS; at++) {
    await round(alone)
    const leaving = new AbortController()
    const analysts = STATEMENTS.map((statement) => analyst(statement, leaving.signal))
    // By then two run, and two wait.
    await sleep(2_000)
    statements.running.push(await countRunning())
    await round(beside)
    statements.running.push(await countRunning())
    leaving.abort()
    await Promise.all(analysts)
    await sleep(1_000)
  }
  const { answered, refused, running } = statements
  console.log(
    `statements: ${Math.min(...running)} to ${Math.max(...running)} under way, ${answered} answered, ${refused} refused`,
  )
  title('beside four analysts; floor: without them')
  const line = (what: string, of: (times: Times) => number[]) => {
    for (const share of [0.5, 0.95])
      figure(`${what}, p${100 * share}`, quantile(of(beside), share), 'ms', quantile(of(alone), share))
  }
  line('candles from memory', (times) => times.fromMemory)
  line('candles read from the tables', (times) => times.read)
  line('a block stored', (times) => times.inserted)

  async function round(times: Times): Promise<void> {
    for (let at = 0; at < REQUESTS; at++) {
      times.read.push(await timed(() => get(draw('new').path)))
      times.fromMemory.push(await timed(() => get(`/v0/candles?symbol=WETH-USDC&interval=1m&limit=100`)))
      times.inserted.push(await timed(() => log.append([blockMessage(number++, shape)])))
      await sleep(10)
    }
  }
} finally {
  stopping.abort()
  await sql.closed
  await api.stop('SIGTERM')
  await writer.stop()
  await log.close()
  await aggregating
  await store.close()
  if (kept === undefined) await rm(folder, { recursive: true, force: true })
}
process.exit()

async function countRunning(): Promise<number> {
  const query = `SELECT toFloat64(count()) AS count FROM system.processes WHERE user = '${SQL_USER}'`
  return (await ask<{ count: number }>(store.owner, query))[0]?.count ?? 0
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

async function analyst(statement: string, leaving: AbortSignal): Promise<void> {
  const options = { host: '127.0.0.1', port: sql.port, method: 'POST', agent: false, signal: leaving }
  while (!leaving.aborted) {
    const status = await new Promise<number>((resolve) => {
      request({ ...options, auth: `${SQL_USER}:${engine.sqlPassword}` }, (answer) => {
        answer.resume().once('close', () => resolve(answer.statusCode ?? 0))
      })
        .on('error', () => resolve(0))
        .end(statement)
    })
    if (status === 200) statements.answered++
    else if (status !== 0) statements.refused++
  }
}
