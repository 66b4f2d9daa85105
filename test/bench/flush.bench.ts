/**
 * From the log to the tables with all candles: how many ticks a second, beside a bare insert of the same ticks; and how long a live block takes.
 * TICKS and POOLS scale it.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { aggregate } from '../../aggregator/aggregate.ts'
import { PUBLISHED_KINDS } from '../../aggregator/extras/publish/publication.ts'
import { publishing } from '../../aggregator/extras/publish/publisher.ts'
import type { AggregatorFact } from '../../aggregator/ledger/fact.ts'
import { insertNative } from '../../aggregator/store/store.ts'
import { contentOf, tickBlock, versionTicks } from '../../aggregator/write/tick-rows.ts'
import { openStore } from '../../infra/clickhouse/store.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import { kafkaLog } from '../../infra/kafka/kafka.ts'
import { openPublicTopics, type PublicTopics } from '../../infra/kafka/public-topics.ts'
import type { Message, RangeMessage } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { startKafka } from '../support/kafka.ts'
import { blockMessage, rangeMessage, type Shape } from './synthetic.ts'

const TICKS = Number(process.env['TICKS'] ?? 1_000_000)
const POOLS = Number(process.env['POOLS'] ?? 400)
const BLOCKS_A_RANGE = 2_000
const SHAPE: Shape = { network: 'ethereum', swapsPerBlock: 3, pools: POOLS, firstTime: 1_700_000_000 }
const BLOCKS = Math.ceil(TICKS / SHAPE.swapsPerBlock / 60_000) * 60_000
const TICKS_IN_ALL = BLOCKS * SHAPE.swapsPerBlock
const never = new AbortController().signal
const PREFIX = `flush-${process.pid}.`
const KINDS = new Set(PUBLISHED_KINDS)

const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
const store = await openStore({ store: { kind: 'embedded' } }, folder, () => {})
const client = store.owner

const RANGES_AT_ONCE = 30

await client.command({ query: 'CREATE TABLE bare_ticks AS ticks' })
const floor = await timed('bare insert of the same ticks, encoded beforehand (floor)', bareInsert)
await timed('log to ticks, ledger and candles of four resolutions', throughAggregator(), floor)
const kafka = await startKafka()
if ('unavailable' in kafka) console.log(`from Kafka: there is none, ${kafka.unavailable}`)
else {
  await fromKafka(floor, kafka.brokers, 'base')
  await fromKafka(floor, kafka.brokers, 'optimism', 'published')
}
for (const [swapsPerBlock, pools] of [
  [3, 400],
  [20, 400],
  [300, 100],
] as const)
  await live({ ...SHAPE, swapsPerBlock, pools, network: `n${swapsPerBlock}` as 'base' })
if (!('unavailable' in kafka)) {
  for (const network of ['arbitrum', 'polygon'] as const)
    await live({ ...SHAPE, swapsPerBlock: 20, network }, network === 'polygon' ? kafka.brokers : undefined)
  await kafka.stop()
}
await store.close()
await rm(folder, { recursive: true, force: true })
process.exit()

/** Messages are made up batch by batch, outside of the time that counts. */
async function timed(
  what: string,
  work: (messages: RangeMessage[]) => () => Promise<unknown>,
  floor?: number,
): Promise<number> {
  let milliseconds = 0
  let micros = 0
  for (let from = 1; from <= BLOCKS; from += BLOCKS_A_RANGE * RANGES_AT_ONCE) {
    const starts = Array.from({ length: RANGES_AT_ONCE }, (_, index) => from + index * BLOCKS_A_RANGE)
    const task = work(starts.map((start) => rangeMessage(start, start + BLOCKS_A_RANGE - 1, SHAPE)))
    const cpu = process.cpuUsage()
    const began = performance.now()
    await task()
    milliseconds += performance.now() - began
    const { user, system } = process.cpuUsage(cpu)
    micros += user + system
  }
  return print(what, milliseconds, micros, floor)
}

function print(what: string, milliseconds: number, micros: number, floor: number | undefined): number {
  const rate = (TICKS_IN_ALL / milliseconds) * 1_000
  const ratio = floor === undefined ? '' : `${(rate / floor).toFixed(2)} of the floor`
  const cpu = (micros / TICKS_IN_ALL).toFixed(2)
  console.log(
    `${what.padEnd(60)} ${Math.round(rate).toLocaleString('en').padStart(10)} ticks/s  ${cpu} µs CPU a tick here  ${ratio}`,
  )
  return rate
}

/** All of it waits in the topic before the clock starts; the broker has its share of the machine. */
async function fromKafka(
  floor: number,
  brokers: readonly string[],
  network: NetworkName,
  published?: 'published',
): Promise<void> {
  const log = await kafkaLog({ brokers, network, prefix: PREFIX, report: () => {} })
  const topics = published && publicTopics(brokers, network)
  let publishedTo = 0
  for (let from = 1; from <= BLOCKS; from += BLOCKS_A_RANGE) {
    await log.append([rangeMessage(from, from + BLOCKS_A_RANGE - 1, { ...SHAPE, network })])
  }
  const stopping = new AbortController()
  let began = 0
  let cpu = process.cpuUsage()
  await aggregate(client, {
    network,
    log,
    position: { generation: 0, offset: 0 },
    observers: topics ? [publishing({ sink: topics, kinds: KINDS, finality: 'instant' })] : [],
    report(fact) {
      complain(fact)
      if (fact.kind === 'published') publishedTo = fact.number
      if (fact.kind === 'aggregator-started') {
        began = performance.now()
        cpu = process.cpuUsage()
      } else if (fact.kind === 'flushed' && fact.to === BLOCKS) stopping.abort()
    },
    signal: stopping.signal,
  })
  const milliseconds = performance.now() - began
  const { user, system } = process.cpuUsage(cpu)
  const what = published
    ? `from Kafka, published meanwhile (${Math.round((publishedTo / BLOCKS) * 100)} % by then)`
    : 'the same, from Kafka'
  print(what, milliseconds, user + system, floor)
  await log.close()
  await topics?.close()
}

function publicTopics(brokers: readonly string[], network: NetworkName): PublicTopics {
  const options = { network: NETWORKS[network], kinds: KINDS, report: () => {}, closed: never }
  return openPublicTopics({ brokers, prefix: PREFIX }, options)
}

function bareInsert(messages: readonly RangeMessage[]): () => Promise<void> {
  const network = 'ethereum'
  const blocks = messages.flatMap((message) =>
    message.blocks.map((block) => ({ network, block, version: 1n }) as const),
  )
  const pieces = tickBlock(versionTicks(network, contentOf(blocks)))
  return () => insertNative(client, 'bare_ticks', pieces)
}

function throughAggregator() {
  const log = inProcessLog<Message>({ nextOffset: 0 })
  void aggregate(client, {
    network: 'ethereum',
    log,
    position: { generation: 0, offset: 0 },
    report: complain,
    signal: never,
  })
  return (messages: readonly RangeMessage[]) => () => log.append(messages)
}

function complain(fact: AggregatorFact): void {
  if (fact.kind === 'store-failed') console.error(fact)
}

async function live(shape: Shape, publishedTo?: readonly string[]): Promise<void> {
  const topics = publishedTo && publicTopics(publishedTo, shape.network)
  const stopping = new AbortController()
  const log = inProcessLog<Message>({ nextOffset: 0 })
  const aggregating = aggregate(client, {
    network: shape.network,
    log,
    position: { generation: 0, offset: 0 },
    observers: topics ? [publishing({ sink: topics, kinds: KINDS, finality: 'instant' })] : [],
    report: complain,
    signal: stopping.signal,
  })
  const times: number[] = []
  for (let number = 1; number <= 300; number++) {
    const message = blockMessage(number, shape)
    const began = performance.now()
    await log.append([message])
    times.push(performance.now() - began)
  }
  stopping.abort()
  await log.close()
  await aggregating
  await topics?.close()
  times.sort((a, b) => a - b)
  const at = (share: number) => (times[Math.floor(times.length * share)] ?? 0).toFixed(1)
  console.log(
    `live block of ${shape.swapsPerBlock} swaps over ${shape.pools} pools stored${topics ? ', published too' : ''}: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, most ${at(0.999)} ms`,
  )
}
