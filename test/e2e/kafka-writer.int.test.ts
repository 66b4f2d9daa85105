/** A writer with a right to the topics and ill intent: nothing of what it appends stops a network, is stored for good, or takes true blocks away. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import kafkajs, { type Message as KafkaRecord } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { finishJob, openJob } from '../../aggregator/jobs/job.ts'
import { kafkaBackfillLog } from '../../infra/kafka/kafka.ts'
import { encode } from '../../infra/kafka/wire/encode.ts'
import type { AnyMessage } from '../../infra/kafka/wire/wire-format.ts'
import type { Message } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { networkOf } from '../aggregator/running.ts'
import { run } from '../support/candlepool.ts'
import { asBlocks, asRange, asRestatement, type Chain, fullBlocks, mine } from '../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { kafkaOrSkip } from '../support/kafka.ts'
import { until } from '../support/until.ts'
import { type Aggregating, type Context, kafkaClient, openNetwork } from './cluster.ts'

const { skip, brokers } = kafkaOrSkip()
const CHAIN = mine([], fullBlocks(40, 5))
const HISTORY = CHAIN.slice(0, 20)

/** As a listener tells it: the block five below is final. */
function live(network: NetworkName, blocks: Chain): Message[] {
  return asBlocks(network, blocks).map((block) => ({ ...block, finalized: block.number - 5 }))
}

/** Packs batches by `pack`, until the returned function is called. */
function packingBy(pack: (batch: Buffer) => Buffer): () => void {
  const codecs = kafkajs.CompressionCodecs as unknown as Record<number, () => object>
  const before = codecs[kafkajs.CompressionTypes.GZIP]
  codecs[kafkajs.CompressionTypes.GZIP] = () => ({ compress: async ({ buffer }: { buffer: Buffer }) => pack(buffer) })
  return () => {
    if (before) codecs[kafkajs.CompressionTypes.GZIP] = before
  }
}

const small = (batch: Buffer) => gzipSync(batch, { level: 9 })

async function countBlocks({ client }: TestDatabase): Promise<number> {
  const answer = await client.query({
    query: 'SELECT toUInt32(count()) AS blocks FROM blocks FINAL',
    format: 'JSONEachRow',
  })
  const [row] = await answer.json<{ blocks: number }>()
  return row?.blocks ?? 0
}

describe.skipIf(skip || withoutClickHouse)('a Kafka writer', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  /** A network whose history is stored by an aggregator that then starts again: so its finality is settled. */
  async function open(context: Context, name: string) {
    const network = networkOf(name)
    const cluster = await openNetwork(context, { brokers, database }, network)
    const first = await cluster.aggregate()
    await cluster.log.append(live(network, HISTORY))
    await cluster.untilTip(HISTORY)
    await first.stop()
    const aggregator = await cluster.aggregate()
    await aggregator.untilReported('aggregator-started')
    const producer = kafkaClient(brokers).producer({ createPartitioner: () => () => 0 })
    await producer.connect()
    context.onTestFinished(() => producer.disconnect())
    const forge = async (records: KafkaRecord[], topic = 'blocks', compression = kafkajs.CompressionTypes.None) => {
      await producer.send({ topic: `${topic}.${network}`, messages: records, compression })
    }
    let stored = HISTORY.length
    /** The next true block is stored. */
    const nextIsStored = async () => {
      await cluster.log.append(live(network, CHAIN.slice(stored, stored + 1)))
      stored++
      await cluster.untilTip(CHAIN.slice(0, stored))
    }
    return { ...cluster, network, aggregator, forge, nextIsStored, upTo: () => CHAIN.slice(0, stored) }
  }

  const rejectedBy = ({ facts }: Aggregating) => facts.filter(({ kind }) => kind === 'message-rejected')
  const recordOf = (message: AnyMessage) => ({ value: encode(message) })

  test('records that are ill-typed, crowded or endless are set aside, and the next block is stored, at a start too', async (context) => {
    const { network, aggregator, forge, nextIsStored, upTo, aggregate, expectCleanRun } = await open(
      context,
      'illtyped',
    )
    const [next] = live(network, CHAIN.slice(20, 21))
    if (next?.kind !== 'block') throw new Error('The chain has a next block.')
    const json = encode(next).toString()
    const changed = (change: (wire: Record<string, Record<string, unknown>>) => void) => {
      const wire = JSON.parse(json)
      change(wire)
      return { value: JSON.stringify(wire) }
    }
    const head = (fields: object) => changed((wire) => Object.assign(wire['head'] ?? {}, fields))
    const inTicks = (column: string, value: unknown) =>
      changed((wire) => {
        const ticks = wire['ticks'] as Record<string, unknown[]>
        ticks[column] = (ticks[column] ?? []).map(() => value)
      })
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`h${index}`, 'x']))
    const kinds: KafkaRecord[] = [
      head({ network: 'base' }),
      head({ kind: 'restatement', job: 4_294_967_295, pools: 5 }),
      head({ kind: { toString: 1 } }),
      head({ finalized: 2 ** 53 - 1 }),
      changed((wire) => Object.assign(wire['blocks'] ?? {}, { number: [-1] })),
      changed((wire) => Object.assign(wire['blocks'] ?? {}, { number: [next.number + 0.5] })),
      changed((wire) => Object.assign(wire['blocks'] ?? {}, { timestamp: [4_294_000_000] })),
      changed((wire) => Object.assign(wire['blocks'] ?? {}, { ticks: [1e9] })),
      changed((wire) => Object.assign(wire['blocks'] ?? {}, { hash: { length: 1 } })),
      inTicks('price', 'NaN'),
      inTicks('price', null),
      inTicks('amount0', '0xzz'),
      inTicks('amount0', `0x${'f'.repeat(100_000)}`),
      inTicks('amount0', 1.5),
      inTicks('pool', 1e6),
      inTicks('logIndex', 7),
      inTicks('transactionHash', '[31m'),
      { value: `{"v":1,"v":2,${json.slice(1)}` },
      { value: `{"v":1,"head":${'['.repeat(400_000)}${']'.repeat(400_000)}}` },
      { value: json, key: Buffer.alloc(900_000) },
      { value: json, headers: many },
      { value: json, headers: { message: 'endless', part: '0', parts: '1e9' } },
      { value: json, headers: { message: 'endless', part: '-1', parts: '2' } },
      { value: null },
    ]
    for (const record of kinds) await forge([record])
    await nextIsStored()
    await aggregator.untilReported('message-rejected', kinds.length - 1)
    const rejected = rejectedBy(aggregator)
    // A name that is there twice counts once, with its last value: this one is the true next block.
    expect(rejected).toHaveLength(kinds.length - 1)
    for (const fact of rejected) expect('reason' in fact && /^[\P{C}]{10,300}$/u.test(fact.reason)).toBe(true)
    await forge(
      Array.from({ length: 60 }, () => ({ value: Buffer.alloc(900_000, ' ') })),
      'blocks',
      kafkajs.CompressionTypes.GZIP,
    ).catch(() => {})
    for (let part = 0; part < 40; part++)
      await forge([{ value: randomBytes(900_000), headers: { message: 'endless', part: `${part}`, parts: '900' } }])
    await aggregator.stop()
    const again = await aggregate()
    await again.untilReported('aggregator-started')
    await nextIsStored()
    await expectCleanRun(upTo(), live)
  })

  test('a batch that unpacks to a gigabyte, or cannot be unpacked, is set aside in bounded memory', async (context) => {
    const { aggregator, forge, nextIsStored, upTo, aggregate, expectCleanRun } = await open(context, 'bombed')
    const memoryBefore = process.memoryUsage().rss
    context.onTestFinished(packingBy(small))
    // Kafka bounds what is sent, packed: a broker that takes the batch hands it to every reader.
    await forge([{ value: Buffer.alloc(300_000_000, ' ') }], 'blocks', kafkajs.CompressionTypes.GZIP)
    for (let count = 0; count < 6; count++)
      await forge([{ value: Buffer.alloc(20_000_000, '[') }], 'blocks', kafkajs.CompressionTypes.GZIP)
    await forge(
      Array.from({ length: 60_000 }, () => ({ value: 'x' })),
      'blocks',
      kafkajs.CompressionTypes.GZIP,
    )
    await nextIsStored()
    expect(rejectedBy(aggregator).length).toBeGreaterThanOrEqual(8)
    expect(rejectedBy(aggregator)[0]).toMatchObject({ reason: expect.stringContaining('unpacks to more than') })
    await aggregator.stop()
    const again = await aggregate()
    await again.untilReported('aggregator-started')
    await nextIsStored()
    await expectCleanRun(upTo(), live)
    // The forger of this process has held 300 MB itself.
    expect(process.memoryUsage().rss - memoryBefore).toBeLessThan(1_000_000_000)
  })

  test.skipIf(process.platform !== 'linux')(
    'batches that unpack to 300 MB each leave the aggregator process below a gigabyte, at a start too',
    async ({ onTestFinished: atEnd }) => {
      const prefix = `bombs-${randomBytes(4).toString('hex')}.`
      const own = await freshDatabase()
      const { url, username, password } = own.connection
      const environment = {
        ...{ CLICKHOUSE_URL: url, CLICKHOUSE_USER: username, CLICKHOUSE_PASSWORD: password },
        ...{ CLICKHOUSE_DATABASE: own.database, KAFKA_BROKERS: brokers.join(), KAFKA_TOPIC_PREFIX: prefix },
        ETHEREUM_RPC_URL: 'http://127.0.0.1:9',
      }
      const producer = kafkaClient(brokers).producer({ createPartitioner: () => () => 0 })
      await producer.connect()
      atEnd(() => producer.disconnect())
      atEnd(() => own.drop())
      const topic = `${prefix}blocks.ethereum`
      // Each batch is sent as the first one, which holds 300 MB.
      let packed: Buffer | undefined
      atEnd(
        packingBy((batch) => {
          packed ??= small(batch)
          return packed
        }),
      )
      const bomb = (size: number) =>
        producer.send({
          topic,
          messages: [{ value: Buffer.alloc(size, ' ') }],
          compression: kafkajs.CompressionTypes.GZIP,
        })
      for (const at of [0, 1]) {
        const aggregator = run('aggregate', environment)
        atEnd(() => aggregator.stop().then(() => undefined))
        await aggregator.untilPrinted(/aggregator-started/)
        await bomb(at === 0 ? 300_000_000 : 1)
        for (let times = 0; times < 3; times++) await bomb(1)
        await producer.send({ topic, messages: live('ethereum', CHAIN.slice(at, at + 1)).map(recordOf) })
        await until(async () => ((await countBlocks(own)) === at + 1 ? true : undefined), 'the next block is stored')
        const [, peak] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${aggregator.pid}/status`, 'utf8')) ?? []
        console.log(`peak of the aggregator: ${Math.round(Number(peak) / 1_024)} MiB`)
        expect(Number(peak)).toBeLessThan(1_048_576)
        await aggregator.stop()
        // These are met at the next start.
        for (let times = 0; times < 4; times++) await bomb(1)
      }
    },
  )

  test('a transaction that never ends is set aside, and the blocks after it are read', async (context) => {
    const { network, aggregator, nextIsStored, upTo, expectCleanRun } = await open(context, 'transaction')
    const producer = kafkaClient(brokers).producer({
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
      transactionalId: 'never ends',
      idempotent: true,
      maxInFlightRequests: 1,
    })
    await producer.connect()
    context.onTestFinished(() => producer.disconnect())
    const transaction = await producer.transaction()
    await transaction.send({ topic: `blocks.${network}`, messages: [{ value: 'begun' }] })
    await nextIsStored()
    expect(rejectedBy(aggregator)).toMatchObject([{ reason: expect.stringContaining('transaction') }])
    await transaction.abort()
    await nextIsStored()
    await expectCleanRun(upTo(), live)
  })

  test('a forged block or range replaces nothing final, and the next true block replaces it', async (context) => {
    const { network, aggregator, forge, nextIsStored, upTo, expectCleanRun } = await open(context, 'forged')
    const fork = (length: number, depth: number) =>
      mine(upTo().slice(0, upTo().length - depth), fullBlocks(length, 77), 'forged')
    // Below what is final.
    await forge(live(network, fork(1, 15).slice(-1)).map(recordOf))
    await nextIsStored()
    expect(rejectedBy(aggregator)).toMatchObject([{ reason: expect.stringContaining('is final') }])
    // A sibling of the tip: the next true block builds on the one that it replaced.
    await forge(live(network, fork(1, 1).slice(-1)).map(recordOf))
    await nextIsStored()
    await forge(live(network, fork(4, 3).slice(-4)).map(recordOf))
    await nextIsStored()
    // Children of the tip that say that they are final.
    await forge(
      asBlocks(network, fork(3, 0).slice(-3)).map((block) => recordOf({ ...block, finalized: block.number - 1 })),
    )
    await nextIsStored()
    // A range of final history, up to as far as one may reach, without a block.
    const tip = upTo().at(-1)
    if (!tip) throw new Error('There is a tip.')
    const range = asRange(network, fork(1, 0).slice(-1))
    for (const to of [tip.number + 3, tip.number + 40_000]) {
      await forge([recordOf({ ...range, to, blocks: [] })])
      await nextIsStored()
    }
    await forge([recordOf({ ...range, to: 2 ** 53 - 1, blocks: [] })])
    await nextIsStored()
    expect(aggregator.facts.filter(({ kind }) => kind === 'stage-halted')).toStrictEqual([])
    await expectCleanRun(upTo(), live)
  })

  test('a statement about final history counts only for a job that was asked for, within its range', async (context) => {
    const { network, aggregator, forge, nextIsStored, upTo, expectCleanRun } = await open(context, 'statements')
    const { client } = database
    const job = await openJob(client, { network, from: 105, to: 108, pools: undefined, concurrency: 1 })
    const part = HISTORY.slice(5, 9)
    const statement = asRestatement(network, part, { job: job.id })
    const forged: AnyMessage[] = [
      { ...statement, from: 100, to: 119, job: 4_294_967_295, blocks: [] },
      { ...statement, job: job.id + 1, blocks: [] },
      { ...statement, to: 109, blocks: [] },
      { ...statement, pools: [`0x${'ab'.repeat(20)}`], blocks: [] },
    ]
    await forge(forged.map(recordOf), 'backfill')
    const ill = JSON.parse(encode(statement).toString())
    ill.head.pools = 5
    const without = JSON.parse(encode(statement).toString())
    delete without.head.job
    await forge([{ value: JSON.stringify(ill) }, { value: JSON.stringify(without) }], 'backfill')
    const history = await kafkaBackfillLog({ brokers, network, report: () => {} })
    context.onTestFinished(() => history.close())
    await history.append([{ ...statement, blocks: statement.blocks.map((block) => ({ ...block, balances: [] })) }])
    await finishJob(client, job)
    await aggregator.untilReported('restated')
    await nextIsStored()
    expect(rejectedBy(aggregator)).toHaveLength(forged.length + 2)
    await expectCleanRun(upTo(), live)
  })
})
