/**
 * Open streams on one process: from a block's message appended to the candle that a reader of a stream gets, beside a client that asks the same
 * question every 4 ms, while STREAMS streams over all pools are open; and the memory of that process meanwhile. MINUTES scales it.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { storedChain } from '../../aggregator/ledger/stored-blocks.ts'
import { createClient } from '../../api/extras/clients/typescript/src/client.ts'
import { findStore, openStore } from '../../infra/clickhouse/store.ts'
import { until } from '../support/until.ts'
import { now } from './chain-node.ts'
import { KEY, type PipelineProcess, shapeOf, startPipelineProcess } from './e2e.ts'
import { figure, quantile, title } from './figure.ts'
import { storeFirstDay } from './past.ts'
import { blockAt } from './synthetic.ts'

const STREAMS = Number(process.env['STREAMS'] ?? 1_000)
const MINUTES = Number(process.env['MINUTES'] ?? 10)
const POLL_MS = 4
const BLOCK_MS = 1_000
const WARM_UP_BLOCKS = 20
const SHAPE = shapeOf(1)
const EMBEDDED = { store: { kind: 'embedded' } } as const

const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
const past = await openStore(EMBEDDED, folder, () => {})
await storeFirstDay(past.owner, SHAPE)
await past.close()
const pipeline = await startPipelineProcess(folder)
const store = await findStore(EMBEDDED, folder)
if (!store) throw new Error('The engine of the pipeline is not there.')
const chain = storedChain(store.owner, SHAPE.network)
let number = ((await chain.tip())?.number ?? -1) + 1
await pipeline.append(number)
await until(async () => ((await chain.tip())?.number === number ? true : undefined), 'all pools have been traded')

const open: IncomingMessage[] = []
let received = 0
for (let index = 0; index < STREAMS; index++) open.push(await openStream(poolAt(index)))
await measure(pipeline)
for (const answer of open) answer.destroy()
await store.close()
await pipeline.stop()
await rm(folder, { recursive: true, force: true })
process.exit()

async function measure(pipeline: PipelineProcess): Promise<void> {
  const told: number[] = []
  const polled: number[] = []
  const memory: number[] = []
  const client = createClient({ url: pipeline.url, key: KEY, retries: 0 })
  const end = performance.now() + MINUTES * 60_000
  for (let step = 0; performance.now() < end; step++) {
    number += 1
    // At the end of a minute the candle would be another one before the block is seen.
    const left = 60_000 - (Date.now() % 60_000)
    if (left < 3_000) await sleep(left)
    const pool = blockAt(number, SHAPE).ticks[0]?.pool ?? '0x'
    const volume = async () => (await client.candles({ pool, interval: '1m', limit: 1 })).rows[0]
    const before = await volume()
    const stream = await openStream(pool)
    const isChanged = (row: { time: string; volume: number } | undefined) =>
      row !== undefined && row.volume > 0 && (row.time !== before?.time || row.volume !== before.volume)
    const events = new Promise<number>((resolve) => {
      let text = ''
      stream.on('data', (chunk: string) => {
        text += chunk
        const rows = [...text.matchAll(/event: candle\ndata: (\{.*\})\n/g)].map(([, json = '']) => JSON.parse(json))
        if (rows.some(isChanged)) resolve(now())
      })
    })
    const polls = (async () => {
      for (;;) {
        if (isChanged(await volume())) return now()
        await sleep(POLL_MS)
      }
    })()
    await sleep(50 + Math.random() * 100)
    const sent = await pipeline.append(number)
    const [toldAt, polledAt] = await Promise.all([events, polls])
    stream.destroy()
    if (step >= WARM_UP_BLOCKS) {
      told.push(toldAt - sent)
      polled.push(polledAt - sent)
    }
    memory.push(await residentMiB(pipeline.pid))
    await sleep(BLOCK_MS - ((performance.now() | 0) % BLOCK_MS))
  }
  title(
    `message appended to candle, ${STREAMS.toLocaleString('en')} open streams, ${told.length} blocks, ${MINUTES} min`,
  )
  for (const share of [0.5, 0.95])
    figure(
      `an event of a stream, p${share * 100}; floor: a client that asks every ${POLL_MS} ms`,
      quantile(told, share),
      'ms',
      quantile(polled, share),
    )
  const part = Math.max(1, Math.floor(memory.length / 10))
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  figure(
    'memory of the process, last tenth; floor: second tenth',
    mean(memory.slice(-part)),
    'MiB',
    mean(memory.slice(part, 2 * part)),
  )
  figure('received by all streams', received / 2 ** 20, 'MiB')
}

function poolAt(index: number): string {
  return blockAt(index, { ...SHAPE, swapsPerBlock: 1 }).ticks[0]?.pool ?? '0x'
}

/** Resolves once the snapshot has begun. */
function openStream(pool: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { 'X-API-KEY': KEY, Accept: 'text/event-stream' }
    const request = get(`${pipeline.url}/v0/candles?pool=${pool}&interval=1m&limit=1`, { headers, agent: false })
    request.on('error', reject).on('response', (answer) => {
      if (answer.statusCode !== 200) return reject(new Error(`A stream was answered with ${answer.statusCode}.`))
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        received += chunk.length
      })
      answer.on('error', () => undefined)
      answer.once('data', () => resolve(answer))
    })
  })
}

async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024
}
