/**
 * The whole pipeline, with ten million ticks stored: from a block's message appended to the first answer of `/v0/candles` that shows its
 * trades, 20 swaps a block; and from the chain's new head to that answer with `npm start`, 3 swaps a block and WebSocket heads, where the
 * node's answers take 0 or 50 ms. A client on a kept connection asks one question after the other, 2 ms apart. Beside them a bare insert of the same
 * ticks, for the head after one round trip. KAFKA=1 appends to Kafka as well, and PUBLISH_ROUNDS=3 publishes meanwhile, by turns with runs that do not. FSYNC=off waits for no disk. DAYS (of a million ticks), BLOCKS
 * and LATENCIES scale it.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { storedChain } from '../../aggregator/ledger/stored-blocks.ts'
import { findStore, openStore } from '../../infra/clickhouse/store.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { type Ask, asker, run, untilReady } from '../support/candlepool.ts'
import { startKafka } from '../support/kafka.ts'
import { until } from '../support/until.ts'
import { createBareTable, insertBare, timeOf } from './bare-insert.ts'
import { type ChainNode, now, poolOfSwap, startChain } from './chain-node.ts'
import { KEY, shapeOf, startPipelineProcess } from './e2e.ts'
import { figure, quantile, title } from './figure.ts'
import { copyFirstDay, storeFirstDay } from './past.ts'
import { blockAt } from './synthetic.ts'

const DAYS = Number(process.env['DAYS'] ?? 10)
const SWAPS = Number(process.env['SWAPS'] ?? 23)
const BLOCKS = Number(process.env['BLOCKS'] ?? 150)
const WARM_UP_BLOCKS = 20
const LATENCIES = (process.env['LATENCIES'] ?? '0,50').split(',').map(Number)
/** By turns with and without public topics, where KAFKA=1. */
const PUBLISH_ROUNDS = Number(process.env['PUBLISH_ROUNDS'] ?? 0)
const HEAD = 1_000_000
const SWAPS_A_HEAD = 3
const PATIENCE_MS = 10_000
/** Between two questions, so that asking is not what the machine does most of the time; it counts as time on the pipeline. */
const PAUSE_MS = 2
const SHAPE = shapeOf(DAYS)
const EMBEDDED = { store: { kind: 'embedded' } } as const

type Step = {
  number: number
  /** Time of the block's first swap. */
  pool: PoolId
  swaps: number
  /** Resolves with the moment at which the pipeline begins. */
  send(): Promise<number>
}

/** In ms, block by block; `answers` one by one. */
type Times = { pipeline: number[]; answers: number[]; bare: number[] }

const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
/** Where `npm start` has the tables of real networks. */
const tables = join(folder, 'store')
const kafka = process.env['KAFKA'] === '1' ? await startKafka() : undefined
if (kafka && 'unavailable' in kafka) throw new Error(`There is no Kafka: ${kafka.unavailable}`)

await storePast()
await fromMessage('in-process log')
if (kafka) {
  await fromMessage('Kafka', kafka.brokers)
  for (let round = 0; round < PUBLISH_ROUNDS; round++) {
    await fromMessage('Kafka, published too', kafka.brokers, 'ticks,pools,candles')
    await fromMessage('Kafka', kafka.brokers)
  }
}
await fromHead()
await kafka?.stop()
await rm(folder, { recursive: true, force: true })
process.exit()

async function storePast(): Promise<void> {
  const store = await openStore(EMBEDDED, tables, () => {})
  await storeFirstDay(store.owner, { ...SHAPE, swapsPerBlock: SWAPS })
  await copyFirstDay(store.owner, { ...SHAPE, swapsPerBlock: SWAPS }, 1, DAYS)
  await createBareTable(store.owner)
  await store.close()
}

async function fromMessage(log: string, brokers?: readonly string[], publish?: string): Promise<void> {
  const pipeline = await startPipelineProcess(tables, brokers, publish)
  const { client, close } = await openTables()
  const chain = storedChain(client, SHAPE.network)
  let number = ((await chain.tip())?.number ?? -1) + 1
  await pipeline.append(number)
  await until(async () => ((await chain.tip())?.number === number ? true : undefined), 'all pools have been traded')
  const stored: number[] = []
  const sent = new Map<number, number>()
  const times = await measure(client, asker(pipeline.url, KEY), () => {
    number += 1
    const current = number
    return {
      number,
      pool: blockAt(number, SHAPE).ticks[0]?.pool ?? '0x',
      swaps: SHAPE.swapsPerBlock,
      async send() {
        const at = await pipeline.append(current)
        sent.set(current, at)
        return at
      },
    }
  })
  await close()
  await pipeline.stop()
  for (const [block, at] of [...sent].slice(WARM_UP_BLOCKS)) {
    const storedAt = pipeline.stored.get(block)
    if (storedAt !== undefined) stored.push(storedAt - at)
  }
  title(`message appended to candle over HTTP: ${log}, ${SHAPE.swapsPerBlock} swaps a block (p95 below 40)`)
  print('from the message to the answer', times.pipeline, times.bare)
  print('from the message to all stored', stored, times.bare)
  print('one answer', times.answers)
}

async function fromHead(): Promise<void> {
  const node = await startChain({ latencyMs: 0, head: HEAD, swapsPerBlock: SWAPS_A_HEAD, isProven: true })
  const start = run('start', {
    ETHEREUM_RPC_URL: node.url.replace('http', 'ws'),
    ETHEREUM_START: '-300',
    HEADER_PROOF: 'required',
    DATA_DIR: folder,
    PORT: '0',
    LOG_LEVEL: 'warn',
    ...(process.env['FSYNC'] && { FSYNC: process.env['FSYNC'] }),
  })
  try {
    const { url, key } = await untilReady(start)
    await overHeads(node, asker(url, key))
  } finally {
    await start.stop()
    await node.stop()
  }
}

async function overHeads(node: ChainNode, ask: Ask): Promise<void> {
  const { client, close } = await openTables()
  let number = HEAD
  for (const latencyMs of LATENCIES) {
    node.setLatency(latencyMs)
    const times = await measure(client, ask, () => {
      number += 1
      return {
        number,
        pool: poolOfSwap(number * SWAPS_A_HEAD),
        swaps: SWAPS_A_HEAD,
        send: async () => (await node.mine()).at,
      }
    })
    const limit = latencyMs === 0 ? 45 : 60 + latencyMs
    title(
      `new head to candle over HTTP: npm start, ${latencyMs} ms latency, ${SWAPS_A_HEAD} swaps a block (p95 below ${limit})`,
    )
    const floor = times.bare.map((ms) => ms + latencyMs)
    print('from the head to the answer', times.pipeline, floor)
    print('one answer', times.answers)
  }
  await close()
}

/** Memory of the engine that another process runs. */
async function openTables(): Promise<{ client: ClickHouseClient; close(): Promise<void> }> {
  const store = await findStore(EMBEDDED, tables)
  if (!store) throw new Error(`No engine answers in ${tables}.`)
  return { client: store.owner, close: store.close }
}

async function measure(client: ClickHouseClient, ask: Ask, next: () => Step): Promise<Times> {
  const times: Times = { pipeline: [], answers: [], bare: [] }
  for (let step = 0; step < WARM_UP_BLOCKS + BLOCKS; step++) {
    const { number, pool, swaps, send } = next()
    await untilWithinMinute()
    const newest = () => newestCandle(ask, pool)
    const before = await newest()
    const sent = send()
    for (const giveUp = now() + PATIENCE_MS; ; await sleep(PAUSE_MS)) {
      const asked = now()
      const candle = await newest()
      const answered = now()
      times.answers.push(answered - asked)
      // A minute without trades is shown as one of volume 0.
      if (candle?.volume && (candle.time !== before?.time || candle.volume !== before.volume)) {
        times.pipeline.push(answered - (await sent))
        break
      }
      if (now() > giveUp)
        throw new Error(`The trades of block ${number} in ${pool} were not shown within ${PATIENCE_MS} ms.`)
    }
    // What follows the answer is over by then.
    await sleep(50)
    const block = blockAt(number, { ...SHAPE, swapsPerBlock: swaps })
    times.bare.push(await timeOf(() => insertBare(client, block)))
    // At no fixed distance from whatever else happens at intervals.
    await sleep(50 + Math.random() * 100)
  }
  return { ...times, pipeline: times.pipeline.slice(WARM_UP_BLOCKS), bare: times.bare.slice(WARM_UP_BLOCKS) }
}

type Candle = { time: string; volume: number }

async function newestCandle(ask: Ask, pool: PoolId): Promise<Candle | undefined> {
  const { data } = await ask<{ data: Candle[] }>(`/v0/candles?pool=${pool}&interval=1m&limit=1`)
  return data[0]
}

/** At its end the newest candle would be another one before the block has been seen. */
async function untilWithinMinute(): Promise<void> {
  const left = 60_000 - (Date.now() % 60_000)
  if (left < 3_000) await sleep(left)
}

function print(what: string, times: readonly number[], floor?: readonly number[]): void {
  for (const share of [0.5, 0.95]) {
    figure(`${what}, p${share * 100}`, quantile(times, share), 'ms', floor && quantile(floor, share))
  }
}
