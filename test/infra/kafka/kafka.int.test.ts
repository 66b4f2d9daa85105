import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { Kafka, type KafkaConfig, type Message as KafkaRecord } from 'kafkajs'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { LogFact } from '../../../infra/kafka/client/facts.ts'
import { singleOwnerAssignor } from '../../../infra/kafka/group/single-owner-assignor.ts'
import { type KafkaLog, type KafkaLogOptions, kafkaLog } from '../../../infra/kafka/kafka.ts'
import { toRecords } from '../../../infra/kafka/wire/parts.ts'
import type { Entry, Offset } from '../../../ingest/model/tick-log.ts'
import { kafkaOrSkip, makeTopic } from '../../support/kafka.ts'
import { type JarBroker, startOwnBroker } from '../../support/kafka-jars.ts'
import { inSoak } from '../../support/sample.ts'
import { logContract, messagesOf, readSome } from './contract.ts'
import { blockMessage, blockMessages } from './messages.ts'

const { skip, brokers } = kafkaOrSkip()

type Opened = { log: KafkaLog; facts: LogFact[]; prefix: string; topic: string }
const opened: KafkaLog[] = []

async function open(options: Partial<KafkaLogOptions> = {}): Promise<Opened> {
  const prefix = options.prefix ?? `test-${randomUUID()}.`
  const facts: LogFact[] = []
  const log = await kafkaLog({ brokers, network: 'ethereum', prefix, report: (fact) => facts.push(fact), ...options })
  opened.push(log)
  return { log, facts, prefix, topic: `${prefix}blocks.ethereum` }
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((log) => log.close()))
})

function client(config: Partial<KafkaConfig> = {}): Kafka {
  return new Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING, ...config })
}

async function withAdmin<T>(work: (admin: ReturnType<Kafka['admin']>) => Promise<T>): Promise<T> {
  const admin = client().admin()
  await admin.connect()
  try {
    return await work(admin)
  } finally {
    await admin.disconnect()
  }
}

/** Deletes records as retention does. */
function deleteBefore(topic: string, offset: Offset): Promise<void> {
  return withAdmin(async (admin) => {
    // kafkajs deletes only in topics that it has met.
    await admin.fetchTopicOffsets(topic)
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(offset) }] })
  })
}

function kindsOf(facts: readonly LogFact[]): string[] {
  return facts.map(({ kind }) => kind).filter((kind) => kind !== 'kafka-client')
}

/** As the aggregator does it: after an error that says so, it starts again from what it has stored. */
async function collect(log: KafkaLog, into: Entry[], signal: AbortSignal): Promise<string[]> {
  const errors: string[] = []
  while (!signal.aborted) {
    try {
      for await (const batch of log.read((into.at(-1)?.offset ?? -1) + 1, signal)) into.push(...batch)
    } catch (error) {
      if (!(error instanceof Error && 'retryable' in error && error.retryable === true)) throw error
      errors.push(error.name)
    }
  }
  return errors
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 30_000
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('The condition was not met within 30 s.')
    await sleep(20)
  }
}

describe.skipIf(skip)('Kafka', () => {
  logContract('the Kafka log', async () => {
    const { log } = await open()
    return { log, close: log.close }
  })

  describe('the topic', () => {
    test('is made with one partition, seven days of retention and no bound on its size', async () => {
      const { topic, facts } = await open()
      expect(facts).toStrictEqual([{ kind: 'log-topic-made', topic, replicas: 1, retentionMs: 604_800_000 }])
      const names = ['retention.ms', 'retention.bytes', 'cleanup.policy']
      const settings = await withAdmin((admin) =>
        admin.describeConfigs({
          includeSynonyms: false,
          resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: names }],
        }),
      )
      const values = settings.resources[0]?.configEntries.map(({ configName, configValue }) => [
        configName,
        configValue,
      ])
      expect(Object.fromEntries(values ?? [])).toStrictEqual({
        'retention.ms': '604800000',
        'retention.bytes': '-1',
        'cleanup.policy': 'delete',
      })
      const metadata = await withAdmin((admin) => admin.fetchTopicMetadata({ topics: [topic] }))
      expect(metadata.topics[0]?.partitions).toHaveLength(1)
    })

    test('is taken as it is where it exists', async () => {
      const { prefix } = await open()
      expect((await open({ prefix })).facts).toStrictEqual([])
    })

    test('is given up where Kafka will never make it', async () => {
      await expect(open({ prefix: 'no such name: ' })).rejects.toMatchObject({
        name: 'LogRefused',
        message: expect.stringContaining('INVALID_TOPIC_EXCEPTION'),
      })
    })

    test('is refused where it has more than one partition', async () => {
      const prefix = `test-${randomUUID()}.`
      await withAdmin((admin) => makeTopic(admin, { topic: `${prefix}blocks.ethereum`, numPartitions: 2 }))
      await expect(open({ prefix })).rejects.toThrow('has 2 partitions')
    })
  })

  describe('a topic as an operator or a lost broker leaves it', () => {
    test('is named where brokers pack its messages so that they cannot be unpacked, and when that is mended', async () => {
      const prefix = `test-${randomUUID()}.`
      const topic = `${prefix}blocks.ethereum`
      const configEntries = [{ name: 'compression.type', value: 'lz4' }]
      await withAdmin((admin) => makeTopic(admin, { topic, configEntries }))
      const { log, facts } = await open({ prefix })
      await until(() => facts.some(({ kind }) => kind === 'log-setting-unsuitable'))
      expect(facts).toContainEqual({
        ...{ kind: 'log-setting-unsuitable', topic, setting: 'compression.type', value: 'lz4', wanted: 'producer' },
      })
      await log.append([blockMessage(1)])
      await withAdmin((admin) =>
        admin.alterConfigs({
          validateOnly: false,
          resources: [
            {
              type: kafkajs.ConfigResourceTypes.TOPIC,
              name: topic,
              configEntries: [{ name: 'compression.type', value: 'producer' }],
            },
          ],
        }),
      )
      let isRead = false
      const reading = readSome(log, 0, 1).finally(() => {
        isRead = true
      })
      // A broker packs messages as before until its controller's change reaches it.
      for (let next = 2; !isRead; next++) {
        await log.append([blockMessage(next)])
        await sleep(20)
      }
      expect((await reading)[0]?.offset).toBeGreaterThan(0)
      const rejected = facts.find(({ kind }) => kind === 'message-rejected')
      expect(rejected).toMatchObject({ offset: 0, reason: expect.stringContaining('is packed with lz4') })
    })

    test('is made again by its reader, where nothing is appended to it', async () => {
      const { log, facts, topic } = await open()
      await withAdmin((admin) => admin.deleteTopics({ topics: [topic] }))
      const stop = new AbortController()
      const reading = collect(log, [], stop.signal)
      await until(() => facts.filter(({ kind }) => kind === 'log-topic-made').length === 2)
      await until(() => kindsOf(facts).includes('log-reading'))
      stop.abort()
      await reading
    })
  })

  describe('last and at', () => {
    test('find nothing in an empty topic', async () => {
      const { log } = await open()
      expect(await log.last()).toBeUndefined()
      expect(await log.at(0)).toBeUndefined()
    })

    test('find messages of one part and of several', async () => {
      const { log } = await open()
      await log.append([blockMessage(1), blockMessage(2, 20_000)])
      const last = await log.last()
      expect(last?.message).toStrictEqual(blockMessage(2, 20_000))
      expect(await log.at(0)).toStrictEqual({ offset: 0, message: blockMessage(1) })
      expect(await log.at(last?.offset ?? -1)).toStrictEqual(last)
      expect(await log.at((last?.offset ?? 0) - 1)).toBeUndefined()
      expect(await log.at((last?.offset ?? 0) + 1)).toBeUndefined()
    })

    test('look behind a message that was never finished', async () => {
      const { log, topic } = await open()
      await log.append([blockMessage(1)])
      await appendCutOff(topic)
      expect(await log.last()).toStrictEqual({ offset: 0, message: blockMessage(1) })
    })

    test('look behind what is no message', async () => {
      const { log, topic } = await open()
      await log.append([blockMessage(1)])
      await produce(
        topic,
        Array.from({ length: 20 }, () => ({ value: 'rubbish' })),
      )
      expect(await log.last()).toStrictEqual({ offset: 0, message: blockMessage(1) })
      expect(await log.at(20)).toBeUndefined()
      expect(await log.at(0)).toStrictEqual({ offset: 0, message: blockMessage(1) })
    })

    test('know what retention has deleted', async () => {
      const { log, topic } = await open()
      await log.append(blockMessages(1, 5))
      await deleteBefore(topic, 3)
      expect(await log.at(2)).toBeUndefined()
      expect(await log.at(3)).toStrictEqual({ offset: 3, message: blockMessage(4) })
      expect((await log.last())?.offset).toBe(4)
      await deleteBefore(topic, 5)
      expect(await log.last()).toBeUndefined()
    })
  })

  async function produce(topic: string, messages: KafkaRecord[]): Promise<void> {
    const producer = client().producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
    await producer.connect()
    await producer.send({ topic, messages })
    await producer.disconnect()
  }

  /** Two parts of a message whose writer then died. */
  async function appendCutOff(topic: string): Promise<void> {
    const parts = toRecords(blockMessage(2, 30), 'cut-off', 2000).slice(0, 2)
    const messages = parts.map(({ value, part }) => ({
      value,
      headers: { message: part?.messageId, part: String(part?.index), parts: String(part?.count) },
    }))
    await produce(topic, messages)
  }

  /** The first records of a topic, as text. */
  async function recordsOf(topic: string, count: number) {
    const consumer = client().consumer({ groupId: randomUUID(), maxWaitTimeInMs: 50 })
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    const records: { value: string; headers: Record<string, string> }[] = []
    await consumer.run({
      eachMessage: async ({ message: { value, headers } }) => {
        const texts = Object.entries(headers ?? {}).map(([name, text]) => [name, String(text)])
        records.push({ value: String(value), headers: Object.fromEntries(texts) })
      },
    })
    await until(() => records.length >= count)
    await consumer.disconnect()
    return records
  }

  describe('read', () => {
    test('starts at the first part when it is given the offset of the last', async () => {
      const { log } = await open()
      await log.append([blockMessage(1), blockMessage(2, 20_000), blockMessage(3)])
      const [, large, small] = await readSome(log, 0, 3)
      expect(messagesOf(await readSome(log, large?.offset ?? 0, 2))).toStrictEqual([
        blockMessage(2, 20_000),
        blockMessage(3),
      ])
      expect(messagesOf(await readSome(log, small?.offset ?? 0, 1))).toStrictEqual([blockMessage(3)])
    })

    test('drops a message that was cut off, with a fact', async () => {
      const { log, topic, facts } = await open()
      await log.append([blockMessage(1)])
      await appendCutOff(topic)
      await log.append(blockMessages(2, 67))
      expect(messagesOf(await readSome(log, 0, 67))).toStrictEqual(blockMessages(1, 67))
      expect(facts).toContainEqual(
        expect.objectContaining({ kind: 'log-parts-dropped', messageId: 'cut-off', lastOffset: 2, parts: 2 }),
      )
    })

    test('copies what is no message with its reason to a topic of its own, and reads on', async () => {
      const { log, topic, facts } = await open()
      const broken = toRecords(blockMessage(3, 30), 'broken', 2000).map(({ part }, index) => ({
        value: `part ${index}`,
        headers: { message: 'broken', part: String(part?.index), parts: String(part?.count) },
      }))
      await log.append([blockMessage(1)])
      await produce(topic, [{ value: 'hello' }, { value: null }])
      await log.append([blockMessage(2)])
      await produce(topic, broken)
      await log.append([blockMessage(3)])
      expect(messagesOf(await readSome(log, 0, 3))).toStrictEqual(blockMessages(1, 3))
      const last = 4 + broken.length - 1
      const rejected = facts.filter((fact) => fact.kind === 'message-rejected')
      expect(rejected).toMatchObject([
        { topic, offset: 1, reason: expect.stringContaining('it begins with "hello"') },
        { topic, offset: 2, reason: expect.stringContaining('it is not JSON') },
        { topic, offset: last, reason: expect.stringContaining('it begins with "part 0part 1') },
      ])
      await until(() => facts.some((fact) => fact.kind === 'log-topic-made' && fact.topic === `${topic}.rejected`))
      const reasons = rejected.map(({ reason }) => reason)
      expect(await recordsOf(`${topic}.rejected`, 2 + broken.length)).toStrictEqual([
        { value: 'hello', headers: { reason: reasons[0], offset: '1' } },
        { value: '', headers: { reason: reasons[1], offset: '2' } },
        ...broken.map(({ value, headers }) => ({
          value,
          headers: { ...headers, reason: reasons[2], offset: `${last}` },
        })),
      ])
    })

    test('copies what its reader rejects', async () => {
      const { log, topic } = await open()
      await log.append([blockMessage(1), blockMessage(2, 20_000)])
      const last = await log.last()
      await log.reject?.(0, 'too small')
      await log.reject?.(last?.offset ?? 0, 'too large')
      const copies = await recordsOf(`${topic}.rejected`, 1 + (last?.offset ?? 0))
      expect(copies.map(({ headers }) => headers['reason'])).toStrictEqual([
        'too small',
        ...copies.slice(1).map(() => 'too large'),
      ])
      expect(copies.slice(1).map(({ headers }) => headers['part'])).toStrictEqual(
        copies.slice(1).map((_, index) => String(index)),
      )
      expect(JSON.parse(copies[0]?.value ?? '')).toMatchObject({ head: { kind: 'block' } })
    })

    test('retention passed: begins with the oldest message kept, with a fact', async () => {
      const { log, topic, facts } = await open()
      await log.append(blockMessages(1, 5))
      await deleteBefore(topic, 3)
      expect(messagesOf(await readSome(log, 1, 2))).toStrictEqual(blockMessages(4, 5))
      expect(facts).toContainEqual({ kind: 'log-begins-later', topic, position: 1, begins: 3 })
    })

    test('waits at the end, and refuses to wait past it', async () => {
      const { log } = await open()
      await log.append(blockMessages(1, 2))
      const atEnd = readSome(log, 2, 1)
      await sleep(500)
      await log.append([blockMessage(3)])
      expect(messagesOf(await atEnd)).toStrictEqual([blockMessage(3)])
      await expect(readSome(log, 9, 1)).rejects.toMatchObject({ name: 'PositionGone', retryable: true })
    })

    test('ends and leaves the group promptly', async () => {
      const { log, prefix } = await open()
      await log.append([blockMessage(1)])
      const stop = new AbortController()
      let stopped = 0
      for await (const batch of log.read(0, stop.signal)) {
        if (batch.length === 0) continue
        stop.abort()
        stopped = performance.now()
      }
      expect(performance.now() - stopped).toBeLessThan(2000)
      const group = await withAdmin((admin) => admin.describeGroups([`${prefix}candlepool.aggregator.ethereum`]))
      expect(group.groups[0]?.members).toStrictEqual([])
    })

    test('ends where it is stopped before the group is joined', async () => {
      const { log } = await open()
      const stop = new AbortController()
      const first = log.read(0, stop.signal)[Symbol.asyncIterator]().next()
      stop.abort()
      expect(await first).toMatchObject({ done: true })
    })

    test('shows operators what is stored, and never reads from there', async () => {
      const { log, prefix, topic } = await open()
      await log.append(blockMessages(1, 4))
      await readSome(log, 0, 4)
      const offsets = await withAdmin((admin) =>
        admin.fetchOffsets({ groupId: `${prefix}candlepool.aggregator.ethereum`, topics: [topic] }),
      )
      expect(offsets[0]?.partitions[0]?.offset).toBe('4')
      expect(messagesOf(await readSome(log, 1, 3))).toStrictEqual(blockMessages(2, 4))
    })

    test('ends when the log is closed', async () => {
      const { log } = await open()
      const read = readSome(log, 0, 1)
      await sleep(300)
      await log.close()
      expect(await read).toStrictEqual([])
      await expect(log.append([blockMessage(1)])).rejects.toMatchObject({ name: 'LogClosed' })
    })
  })

  describe('signatures', () => {
    const [OLD, NEW] = ['old key '.repeat(4), 'new key '.repeat(4)]

    test('are made with the first key, and records of both keys are read', async () => {
      const { log, prefix } = await open({ signingKeys: [OLD] })
      const second = await open({ prefix, signingKeys: [NEW, OLD] })
      await log.append([blockMessage(1), blockMessage(2, 20_000)])
      await second.log.append([blockMessage(3)])
      expect(messagesOf(await readSome(second.log, 0, 3))).toStrictEqual([
        blockMessage(1),
        blockMessage(2, 20_000),
        blockMessage(3),
      ])
      expect((await log.last())?.message).toStrictEqual(blockMessage(2, 20_000))
    })

    test('are asked of every record: others are set aside, altered ones and those of another topic too', async () => {
      const other = await open({ signingKeys: [OLD] })
      await other.log.append([blockMessage(1)])
      const [signed] = await recordsOf(other.topic, 1)
      const { log, topic, facts } = await open({ signingKeys: [OLD] })
      await log.append([blockMessage(1)])
      const [own] = await recordsOf(topic, 1)
      if (!signed || !own) throw new Error('Both topics have a record.')
      await produce(topic, [
        { value: own.value },
        { value: own.value.replace('"finalized":0', '"finalized":1'), headers: own.headers },
        { value: own.value, headers: { ...own.headers, message: 'moved', part: '0', parts: '1' } },
        { value: signed.value, headers: signed.headers },
        { value: own.value, headers: { signature: 'zz' } },
      ])
      await log.append([blockMessage(2)])
      expect(messagesOf(await readSome(log, 0, 2))).toStrictEqual([blockMessage(1), blockMessage(2)])
      const reasons = facts.flatMap((fact) => (fact.kind === 'message-rejected' ? [fact.reason] : []))
      expect(reasons).toHaveLength(5)
      for (const reason of reasons) expect(reason).toContain('signature')
      for (const reason of reasons) expect(reason).not.toContain(OLD)
    })
  })

  describe('the group', () => {
    test('two aggregators: one reads, the second stands by without disturbing it and takes over when it leaves', async () => {
      const first = await open()
      const second = await open({ prefix: first.prefix })
      const [stopFirst, stopSecond] = [new AbortController(), new AbortController()]
      const byFirst: Entry[] = []
      const bySecond: Entry[] = []
      const firstDone = collect(first.log, byFirst, stopFirst.signal)
      await until(() => kindsOf(first.facts).includes('log-reading'))
      const secondDone = collect(second.log, bySecond, stopSecond.signal)
      await until(() => kindsOf(second.facts).includes('log-standing-by'))

      await first.log.append(blockMessages(1, 3))
      await until(() => byFirst.length === 3)
      expect(bySecond).toStrictEqual([])
      expect(kindsOf(first.facts)).toStrictEqual(['log-topic-made', 'log-reading'])

      stopFirst.abort()
      await firstDone
      await first.log.append(blockMessages(4, 5))
      await until(() => bySecond.length === 5)
      expect(messagesOf(bySecond)).toStrictEqual(blockMessages(1, 5))
      stopSecond.abort()
      // It stood by, so it had to ask its store first.
      expect(await secondDone).toStrictEqual(['PositionStale'])
    })

    test('two aggregators: the one that stands by takes over from a process that dies without a word', async () => {
      const standby = await open({ sessionTimeoutMs: 6000 })
      const program = `${import.meta.dirname}/reading-process.ts`
      const child = spawn(process.execPath, ['--import', 'tsx', program, brokers.join(), standby.prefix])
      await new Promise((resolve) => child.stdout.once('data', resolve))
      const stop = new AbortController()
      const read: Entry[] = []
      const done = collect(standby.log, read, stop.signal)
      await until(() => kindsOf(standby.facts).includes('log-standing-by'))
      child.kill('SIGKILL')
      await standby.log.append([blockMessage(1)])
      await until(() => read.length === 1)
      stop.abort()
      expect(await done).toStrictEqual(['PositionStale'])
    })

    test('a reader that loses the topic ends with an error that says to start again', async () => {
      const { log, facts, prefix, topic } = await open()
      const lost = expect(readSome(log, 0, 1)).rejects.toMatchObject({ name: 'AssignmentLost', retryable: true })
      await until(() => kindsOf(facts).includes('log-reading'))
      const rival = client().consumer({
        groupId: `${prefix}candlepool.aggregator.ethereum`,
        partitionAssigners: [singleOwnerAssignor({ since: Date.now() + 60_000 })],
        maxWaitTimeInMs: 50,
      })
      await rival.connect()
      await rival.subscribe({ topic })
      await rival.run({ eachBatch: async () => {} })
      await lost
      await rival.disconnect()
    })

    test('confirms that the log is the reader’s while it is, and not once another reads', async () => {
      const { log, facts, prefix, topic } = await open()
      await expect(log.confirm?.()).rejects.toMatchObject({ name: 'AssignmentLost' })
      const reader = log.read(0, new AbortController().signal)[Symbol.asyncIterator]()
      await reader.next()
      await log.confirm?.()
      const standby = await open({ prefix })
      const stop = new AbortController()
      const standingBy = collect(standby.log, [], stop.signal)
      await until(() => kindsOf(standby.facts).includes('log-standing-by'))
      await log.confirm?.()
      stop.abort()
      await standingBy

      const rival = client().consumer({
        groupId: `${prefix}candlepool.aggregator.ethereum`,
        partitionAssigners: [singleOwnerAssignor({ since: Date.now() + 60_000 })],
        maxWaitTimeInMs: 50,
      })
      await rival.connect()
      await rival.subscribe({ topic })
      await rival.run({ eachBatch: async () => {} })
      const taken = new Promise((resolve) => rival.on(rival.events.GROUP_JOIN, resolve))
      const confirming = async () => {
        for (;;) await log.confirm?.()
      }
      await expect(confirming()).rejects.toMatchObject({ name: 'AssignmentLost', retryable: true })
      await taken
      await expect(log.confirm?.()).rejects.toMatchObject({ name: 'AssignmentLost' })
      expect(kindsOf(facts).filter((kind) => kind === 'log-reading')).toHaveLength(1)
      await rival.disconnect()
    })

    test('storing for longer than the session timeout keeps the topic', inSoak, async () => {
      const first = await open({ sessionTimeoutMs: 6000 })
      const standby = await open({ prefix: first.prefix, sessionTimeoutMs: 6000 })
      const stop = new AbortController()
      const byStandby: Entry[] = []
      const entries: Entry[] = []
      const more = blockMessages(3, 6, 25_000)
      await first.log.append(blockMessages(1, 2))
      let standbyDone: Promise<string[]> = Promise.resolve([])
      for await (const batch of first.log.read(0, stop.signal)) {
        if (batch.length > 0 && entries.length === 0) {
          standbyDone = collect(standby.log, byStandby, stop.signal)
          // Behind the batch in hand, as much as may waits in the slot and more in kafkajs: all three ways of waiting are there.
          for (const message of more) await first.log.append([message])
          await sleep(9000)
        }
        entries.push(...batch)
        if (entries.length === 6) stop.abort()
      }
      await standbyDone
      expect(messagesOf(entries)).toStrictEqual([...blockMessages(1, 2), ...more])
      expect(byStandby).toStrictEqual([])
    })
  })
})

describe.skipIf(skip)('a killed broker', () => {
  let broker: JarBroker | undefined
  beforeAll(async () => {
    broker = await startOwnBroker()
  })
  afterAll(() => broker?.stop())

  test(
    'a broker that is killed and comes back has lost no message, and keeps the order',
    inSoak,
    async ({ skip: skipTest }) => {
      if (!broker) return skipTest('This needs Java and Maven, to kill a broker of its own.')
      const { log, facts } = await open({ brokers: broker.brokers })
      const messages = blockMessages(1, 120, 20)
      const stop = new AbortController()
      const read: Entry[] = []
      const reading = collect(log, read, stop.signal)
      for (const [index, message] of messages.entries()) {
        if (index === 40) {
          await broker.kill()
          setTimeout(() => broker?.restart(), 1500)
        }
        await log.append([message])
      }
      await until(() => read.length >= messages.length)
      stop.abort()
      await reading
      expect(messagesOf(read)).toStrictEqual(messages)
      expect(kindsOf(facts)).toContain('log-retried')
    },
  )

  test('a killed broker does not hold up the closing of the log', async ({ skip: skipTest }) => {
    if (!broker) return skipTest('This needs Java and Maven, to kill a broker of its own.')
    const { log } = await open({ brokers: broker.brokers })
    await log.append([blockMessage(1)])
    await broker.kill()
    const appended = expect(log.append([blockMessage(2)])).rejects.toMatchObject({ name: 'LogClosed' })
    await sleep(500)
    const start = performance.now()
    await log.close()
    expect(performance.now() - start).toBeLessThan(7000)
    await appended
  })
})
