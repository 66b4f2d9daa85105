/** Chapter 3. Between listener and aggregator lies the log: one port, Kafka behind it in a cluster, a hand-over in one process. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import { kafkaLog } from '../../infra/kafka/kafka.ts'
import { decode } from '../../infra/kafka/wire/decode.ts'
import { encode } from '../../infra/kafka/wire/encode.ts'
import type { BlockMessage } from '../../ingest/model/message.ts'
import type { Entry, TickLog } from '../../ingest/model/tick-log.ts'
import { kafkaOrSkip } from '../support/kafka.ts'
import { madeUpHash } from '../support/recorded.ts'

const { skip: withoutKafka, brokers } = kafkaOrSkip()

/** Three empty blocks, each the child of the one before. */
const CHAIN = [100, 101, 102].map(
  (number): BlockMessage => ({
    kind: 'block',
    network: 'ethereum',
    number,
    hash: madeUpHash(number),
    parentHash: madeUpHash(number - 1),
    timestamp: 1_704_412_800 + number * 12,
    finalized: 0,
    ticks: [],
    pools: [],
    liquidity: [],
    balances: [],
  }),
)

/** The two ends, listener and aggregator; the same for each kind of log. */
async function travel(log: TickLog): Promise<{ sizes: number[]; entries: Entry[] }> {
  const appended = log.append(CHAIN)
  const arrived = new AbortController()
  const sizes: number[] = []
  const entries: Entry[] = []
  for await (const batch of log.read(0, arrived.signal)) {
    sizes.push(batch.length)
    entries.push(...batch)
    if (entries.length === CHAIN.length) arrived.abort()
  }
  await appended
  return { sizes, entries }
}

test('a message is bytes on its way, and the same message after it', () => {
  for (const message of CHAIN) expect(decode(encode(message))).toEqual(message)
})

describe('in one process', () => {
  const log = inProcessLog({ nextOffset: 0 })

  test('appended messages are read in order, after an empty batch that says “the log is yours”', async () => {
    const { sizes, entries } = await travel(log)
    expect(sizes[0]).toBe(0)
    expect(entries.map(({ message }) => message)).toEqual(CHAIN)
    expect(entries.map(({ offset }) => offset)).toEqual([0, 1, 2])
  })

  test('nothing is kept: appended means stored, and the tables hold the place to resume at', async () => {
    expect(await log.last()).toBeUndefined()
    await log.close()
  })
})

describe.skipIf(withoutKafka)('over Kafka', () => {
  const open = (prefix: string) => kafkaLog({ brokers, network: 'ethereum', prefix, report: () => {} })
  const prefix = `tour-${randomUUID()}.`

  test('the same is read, by another process if need be', async () => {
    const log = await open(prefix)
    const { sizes, entries } = await travel(log)
    expect(sizes[0]).toBe(0)
    expect(entries.map(({ message }) => message)).toEqual(CHAIN)
    await log.close()
  })

  test('the messages stay: a restarted listener reads the last one and resumes after it', async () => {
    const log = await open(prefix)
    expect((await log.last())?.message).toEqual(CHAIN.at(-1))
    await log.close()
  })
})
