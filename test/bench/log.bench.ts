/** Cost of the log: `node --import tsx test/bench/log.bench.ts`. Figures go to standard output, one a line. */
import { performance } from 'node:perf_hooks'
import { type KafkaLog, kafkaLog } from '../../infra/kafka/kafka.ts'
import { decode } from '../../infra/kafka/wire/decode.ts'
import { encode } from '../../infra/kafka/wire/encode.ts'
import type { Message } from '../../ingest/model/message.ts'
import { blockMessages } from '../infra/kafka/messages.ts'
import { startKafka } from '../support/kafka.ts'

function print(what: string, value: number, unit: string): void {
  console.log(`${what.padEnd(52)} ${value.toFixed(value < 100 ? 2 : 0).padStart(10)} ${unit}`)
}

/** Microseconds a tick: the middle of nine rounds. */
function perTick(rounds: () => void, ticks: number): number {
  const times = Array.from({ length: 12 }, () => {
    const start = performance.now()
    rounds()
    return performance.now() - start
  })
  return (quantile(times.slice(3), 0.5) * 1000) / ticks
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN
}

function benchCodec(ticksABlock: number): void {
  const messages = blockMessages(1, Math.ceil(30_000 / ticksABlock), ticksABlock)
  const ticks = messages.length * ticksABlock
  const bytes = messages.map(encode)
  print(
    `encode, ${ticksABlock} ticks a message`,
    perTick(() => messages.forEach(encode), ticks),
    'µs/tick',
  )
  print(
    `decode, ${ticksABlock} ticks a message`,
    perTick(() => bytes.map((message) => decode(message)), ticks),
    'µs/tick',
  )
  print('bytes before gzip', bytes.reduce((sum, { length }) => sum + length, 0) / ticks, 'B/tick')
}

async function benchThroughput(
  log: KafkaLog,
  name: string,
  messages: readonly Message[],
  atOnce: number,
  ticks: number,
) {
  const start = performance.now()
  for (let index = 0; index < messages.length; index += atOnce) await log.append(messages.slice(index, index + atOnce))
  print(`append, ${name}`, (ticks / (performance.now() - start)) * 1000, 'ticks/s')
}

async function readAll(log: KafkaLog, count: number, onMessage: (number: number) => void): Promise<number> {
  const stop = new AbortController()
  let seen = 0
  let first = 0
  for await (const batch of log.read(0, stop.signal)) {
    first ||= performance.now()
    for (const { message } of batch) onMessage(message.kind === 'block' ? message.number : message.to)
    seen += batch.length
    if (seen >= count) stop.abort()
  }
  return performance.now() - first
}

for (const ticksABlock of [3, 100, 2000]) benchCodec(ticksABlock)

const kafka = await startKafka()
if (!('unavailable' in kafka)) {
  const open = (prefix: string) =>
    kafkaLog({ brokers: kafka.brokers, network: 'ethereum', prefix: `${prefix}-${process.pid}.`, report: () => {} })

  const batches = await open('batches')
  const blocks = blockMessages(1, 2000, 100)
  await benchThroughput(batches, 'warm-up', blocks.slice(0, 400), 20, 40_000)
  await benchThroughput(batches, '20 blocks of 100 ticks at a time', blocks, 20, 200_000)
  await benchThroughput(batches, '400 blocks of 100 ticks at a time', blocks, 400, 200_000)
  const elapsed = await readAll(batches, 4400, () => {})
  print('read from the beginning', (440_000 / elapsed) * 1000, 'ticks/s')
  await batches.close()

  const single = await open('single')
  const live = blockMessages(1, 600, 3)
  const sentAt = new Map<number, number>()
  const latencies: number[] = []
  const reading = readAll(single, live.length, (number) => {
    latencies.push(performance.now() - (sentAt.get(number) ?? 0))
  })
  await new Promise((resolve) => setTimeout(resolve, 1000))
  const sends: number[] = []
  for (const message of live) {
    const start = performance.now()
    sentAt.set(message.number, start)
    await single.append([message])
    sends.push(performance.now() - start)
    await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 10))
  }
  await reading
  for (const share of [0.5, 0.95]) {
    print(`awaited append of one block of 3 ticks, p${share * 100}`, quantile(sends.slice(100), share), 'ms')
    print(`append to received, p${share * 100}`, quantile(latencies.slice(100), share), 'ms')
  }
  await single.close()
  await kafka.stop()
}
