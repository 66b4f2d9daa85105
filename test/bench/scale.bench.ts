/**
 * Gain of more servers and more processes: the same backfill through the flush, and the same cold questions for candles, over one shard and
 * over two, beside a single server without shards; then the API as one process and as three, beside a process that answers the same bytes
 * and does nothing else. Where all of it runs on one machine, more of them share its cores: what is gained there is a lower bound.
 * TICKS, SECONDS of each round, SHARDS and PROCESSES scale it.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { aggregate } from '../../aggregator/aggregate.ts'
import { createKey } from '../../api/accounts/keys.ts'
import { queryRows, readSql } from '../../api/lib/store.ts'
import { gridOf } from '../../api/market/candles/candles.ts'
import { resolutionOf } from '../../api/market/model/windows.ts'
import { connect } from '../../infra/clickhouse/client/client.ts'
import { CLUSTER_SETTINGS } from '../../infra/clickhouse/cluster.ts'
import { findEngine } from '../../infra/clickhouse/engine/engine-access.ts'
import { openStore, type Store } from '../../infra/clickhouse/store.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import type { Message } from '../../ingest/model/message.ts'
import { randomOf } from '../simulation/random.ts'
import { type Running, run } from '../support/candlepool.ts'
import { startShards } from '../support/shards.ts'
import { figure, title } from './figure.ts'
import { BUCKETS, candles } from './load-questions.ts'
import { loadFrom } from './load-rounds.ts'
import { poolId, poolsOf, rangeMessage, type Shape } from './synthetic.ts'

const TICKS = Number(process.env['TICKS'] ?? 1_080_000)
const SECONDS = Number(process.env['SECONDS'] ?? 15)
const SHARDS = (process.env['SHARDS'] ?? '1,2').split(',').map(Number)
const PROCESSES = (process.env['PROCESSES'] ?? '1,3').split(',').map(Number)
const SHAPE: Shape = { network: 'ethereum', swapsPerBlock: 3, pools: 400, firstTime: Date.UTC(2025, 0, 1) / 1_000 }
const BLOCKS_A_RANGE = 2_000
const RANGES_AT_ONCE = 30
const BLOCKS = Math.ceil(TICKS / SHAPE.swapsPerBlock / BLOCKS_A_RANGE) * BLOCKS_A_RANGE
/** Questions under way at once. */
const AT_ONCE = 32
const INTERVALS = ['1m', '7m', '1h'] as const
const CANDLES = readSql(new URL('../../api/market/candles/candles.sql', import.meta.url))

const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
const tables = join(folder, 'store')
const single = await openStore({ store: { kind: 'embedded' } }, tables, () => {})
title(
  `${(BLOCKS * SHAPE.swapsPerBlock).toLocaleString('en')} ticks of ${SHAPE.pools} pools over shards, beside one server without`,
)
const floor = await measure(single, await readerOfEngine())
for (const count of SHARDS) {
  const shards = await startShards(count)
  const store = await openStore({ store: shards.config }, folder, () => {})
  const reader = connect({ ...shards.config, settings: CLUSTER_SETTINGS, maxOpenConnections: AT_ONCE })
  const { ticks, questions } = await measure(store, reader)
  figure(`${count} shard${count === 1 ? '' : 's'}, log to ticks, ledger and candles`, ticks, 'ticks/s', floor.ticks)
  figure(
    `${count} shard${count === 1 ? '' : 's'}, cold questions for ${BUCKETS} candles, ${AT_ONCE} at a time`,
    questions,
    '1/s',
    floor.questions,
  )
  await reader.close()
  await store.close()
  await shards.stop()
}
await apis()
await single.close()
await rm(folder, { recursive: true, force: true })
process.exit()

async function measure(store: Store, reader: Store['reader']): Promise<{ ticks: number; questions: number }> {
  return { ticks: await backfill(store), questions: await coldQuestions(reader) }
}

/** Messages are made up outside of the time that counts. */
async function backfill({ owner, shards }: Store): Promise<number> {
  const log = inProcessLog<Message>({ nextOffset: 0 })
  const stopping = new AbortController()
  const aggregating = aggregate(owner, {
    network: SHAPE.network,
    log,
    position: { generation: 0, offset: 0 },
    shards,
    report: (fact) => fact.kind === 'store-failed' && console.error(fact),
    signal: stopping.signal,
  })
  let milliseconds = 0
  for (let from = 1; from <= BLOCKS; from += BLOCKS_A_RANGE * RANGES_AT_ONCE) {
    const messages = []
    for (let start = from; start <= BLOCKS && messages.length < RANGES_AT_ONCE; start += BLOCKS_A_RANGE) {
      const range = rangeMessage(start, start + BLOCKS_A_RANGE - 1, SHAPE)
      const [first, ...rest] = range.blocks
      const isFirst = start === 1 && first !== undefined
      messages.push(isFirst ? { ...range, blocks: [{ ...first, pools: poolsOf(SHAPE.pools) }, ...rest] } : range)
    }
    const began = performance.now()
    await log.append(messages)
    milliseconds += performance.now() - began
  }
  stopping.abort()
  await log.close()
  await aggregating
  return (BLOCKS * SHAPE.swapsPerBlock * 1_000) / milliseconds
}

/** As the API asks for what it does not hold. */
async function coldQuestions(reader: Store['reader']): Promise<number> {
  const random = randomOf(1)
  let asked = 0
  const began = performance.now()
  const until = began + SECONDS * 1_000
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (performance.now() < until) {
        const { pool, interval, seconds, to } = draw(random)
        const range = gridOf({ from: to - seconds * BUCKETS, to }, seconds)
        const resolution = resolutionOf(seconds)
        const parameters = {
          network: SHAPE.network,
          pool: poolId(pool),
          interval: seconds,
          resolution,
          price: 'execution',
          ...range,
        }
        const rows = await queryRows(reader, CANDLES, { ...parameters, limit: BUCKETS })
        if (rows.length === 0) throw new Error(`There are no candles of ${interval} of the pool ${pool}.`)
        asked += 1
      }
    }),
  )
  return (asked * 1_000) / (performance.now() - began)
}

/** Ranges that end somewhere in the later half of what is stored. */
function draw(random: ReturnType<typeof randomOf>) {
  const interval = random.pick(INTERVALS)
  const seconds = { '1m': 60, '7m': 420, '1h': 3_600 }[interval]
  const to = SHAPE.firstTime + random.between(BLOCKS, 2 * BLOCKS)
  return { pool: random.between(0, SHAPE.pools - 1), interval, seconds, to }
}

async function readerOfEngine() {
  const engine = await findEngine(tables)
  if (!engine) throw new Error(`No engine answers in ${tables}.`)
  return connect({ ...engine, ...engine.users.api, maxOpenConnections: AT_ONCE })
}

/** The same questions again and again, from as many connections whatever the number of processes. */
async function apis(): Promise<void> {
  const random = randomOf(2)
  const key = await createKey({ client: single.accounts, plan: 'operator', name: 'scale' })
  const drawn = Array.from({ length: 2 * AT_ONCE }, () => draw(random))
  const questions = drawn.map((asked) => ({ path: candles(asked).path, key }))
  const load = async (urls: readonly string[]) => {
    const each = { seconds: SECONDS, connections: Math.ceil(AT_ONCE / urls.length), questions }
    const loaded = await Promise.all(urls.map((url) => loadFrom({ url, ...each })))
    const failed = loaded.flatMap(({ statuses }) => Object.keys(statuses)).filter((status) => status !== '200')
    if (failed.length > 0) console.error(`Some answers were ${[...new Set(failed)].join(', ')}.`)
    return loaded.reduce((sum, { perSecond }) => sum + perSecond, 0)
  }
  title(`candles from memory, ${AT_ONCE} connections, beside a process that answers bytes of the same length`)
  const started: Running[] = []
  const urls: string[] = []
  for (const count of PROCESSES) {
    while (started.length < count) {
      const one = run('api', { NETWORKS: SHAPE.network, DATA_DIR: folder, PORT: '0' })
      started.push(one)
      urls.push(`http://127.0.0.1:${(await one.untilPrinted(/"port":(\d+)/))[1]}`)
    }
    // What is asked for once is held from then on.
    let length = 0
    for (const url of urls) {
      for (const { path } of questions) {
        const answer = await fetch(`${url}${path}`, { headers: { 'X-API-KEY': key } })
        length = Math.max(length, (await answer.arrayBuffer()).byteLength)
      }
    }
    const bare = await startBare(length)
    const least = await load([bare.url])
    await bare.stop()
    figure(`${count} process${count === 1 ? '' : 'es'} of the API, warm`, await load(urls), '1/s', least)
  }
  for (const one of started) await one.stop('SIGTERM')
}

async function startBare(length: number): Promise<{ url: string; stop(): Promise<void> }> {
  const script = `const body = Buffer.alloc(${length}, 97)
    const server = require('node:http').createServer((_, answer) => answer.end(body))
    server.listen(0, '127.0.0.1', () => console.log(server.address().port))`
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [port] = await once(child.stdout, 'data')
  const exited = once(child, 'exit')
  return {
    url: `http://127.0.0.1:${String(port).trim()}`,
    async stop() {
      child.kill()
      await exited
    },
  }
}
