/**
 * The log over a second client, `@platformatic/kafka`: the same topic, records and messages, without the outages, facts and hand-overs
 * of the product's adapter. What leaving kafkajs would cost, and proof that the topic is no client's own.
 */
import { randomUUID } from 'node:crypto'
import {
  Admin,
  type Message as ConsumedRecord,
  Consumer,
  ListOffsetTimestamps,
  Producer,
  stringDeserializer,
  stringSerializer,
} from '@platformatic/kafka'
import { headersOf } from '../../../infra/kafka/appender.ts'
import { assembler, type LogRecord, type StoredRecord, toBatches, toRecords } from '../../../infra/kafka/wire/parts.ts'
import type { Message } from '../../../ingest/model/message.ts'
import type { Entry, Offset, TickLog } from '../../../ingest/model/tick-log.ts'

type TextRecord = ConsumedRecord<Buffer, Buffer, string, string>

export async function platformaticLog(options: {
  brokers: readonly string[]
  topic: string
  group: string
}): Promise<{ log: TickLog; close(): Promise<void> }> {
  const { topic, group } = options
  const connection = { clientId: 'candlepool-test', bootstrapBrokers: [...options.brokers], retries: 10 }
  const admin = new Admin(connection)
  const producer = new Producer({
    ...connection,
    serializers: { headerKey: stringSerializer, headerValue: stringSerializer },
  })
  const topics = await admin.listTopics()
  if (!topics.includes(topic)) await admin.createTopics({ topics: [topic], partitions: 1, replicas: 1 })
  let queue: Promise<unknown> = Promise.resolve()

  const send = (batch: readonly LogRecord[]) =>
    producer.send({
      acks: -1,
      compression: 'gzip',
      messages: batch.map(({ value, part }) => ({ topic, partition: 0, value, headers: headersOf(part) })),
    })

  async function sendAll(messages: readonly Message[]): Promise<void> {
    const records = messages.flatMap((message) => toRecords(message, randomUUID()))
    for (const batch of toBatches(records)) await send(batch)
  }

  /** Each record from an offset on, after one undefined once the topic is this reader's. */
  async function* recordsFrom(from: Offset, member: string, signal: AbortSignal) {
    if (signal.aborted) return
    const consumer = new Consumer({
      ...connection,
      groupId: member,
      deserializers: { headerKey: stringDeserializer, headerValue: stringDeserializer },
    })
    const offsets = [{ topic, partition: 0, offset: BigInt(from) }]
    const stream = await consumer.consume({
      topics: [topic],
      mode: 'manual',
      offsets,
      autocommit: false,
      maxWaitTime: 50,
    })
    const stop = () => void stream.close()
    signal.addEventListener('abort', stop)
    try {
      yield undefined
      if (signal.aborted) return
      for await (const record of stream) yield toStoredRecord(record)
    } finally {
      signal.removeEventListener('abort', stop)
      await consumer.close(true)
    }
  }

  async function* read(from: Offset, signal: AbortSignal): AsyncGenerator<readonly Entry[], void, undefined> {
    const assemble = assembler({})
    for await (const record of recordsFrom(from, group, signal)) {
      const entry = record && assemble(record)
      if (signal.aborted) return
      if (!record) yield []
      else if (entry && entry.offset >= from) yield [entry as Entry]
    }
  }

  async function end(): Promise<Offset> {
    const partitions = [{ partitionIndex: 0, timestamp: ListOffsetTimestamps.LATEST }]
    const [found] = await admin.listOffsets({ topics: [{ name: topic, partitions }] })
    return Number(found?.partitions[0]?.offset ?? 0)
  }

  /** A message's offset is that of its last part. */
  async function at(offset: Offset): Promise<Entry | undefined> {
    if (offset < 0 || offset >= (await end())) return undefined
    const stop = new AbortController()
    const alone = `${group}.${randomUUID()}`
    const firstOf = async (from: Offset) => {
      for await (const record of recordsFrom(from, alone, stop.signal)) if (record) return record
      return undefined
    }
    const last = await firstOf(offset)
    const assemble = assembler({})
    for await (const record of recordsFrom(offset - (last?.part?.index ?? 0), alone, stop.signal)) {
      const entry = record && assemble(record)
      if (entry?.offset === offset) return entry as Entry
      if (record && record.offset >= offset) return undefined
    }
    return undefined
  }

  return {
    log: {
      append(messages) {
        const appended = queue.then(() => sendAll(messages))
        queue = appended.catch(() => undefined)
        return appended
      },
      read,
      at,
      end,
      last: async () => at((await end()) - 1),
    },
    async close() {
      await queue
      await Promise.all([producer.close(), admin.close()])
    },
  }
}

function toStoredRecord({ offset, value, headers }: TextRecord): StoredRecord {
  const messageId = headers.get('message')
  const part =
    messageId === undefined
      ? undefined
      : { messageId, index: Number(headers.get('part')), count: Number(headers.get('parts')) }
  return { offset: Number(offset), value, part }
}
