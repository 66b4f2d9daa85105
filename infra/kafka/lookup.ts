/** Reads single entries of the topic, to find its end before reading or writing. */

import { randomUUID } from 'node:crypto'
import type { Kafka } from 'kafkajs'
import type { Entry, Offset } from '../../ingest/model/tick-log.ts'
import { settledWithin, withTimeout } from '../lib/with-timeout.ts'
import { CLIENT_RETRY, kafkaCodes, retryStep } from './client/retry.ts'
import { type Bounds, boundsOf } from './client/topic.ts'
import type { ReadContext } from './group/record-batches.ts'
import { assembler, type StoredRecord } from './wire/parts.ts'
import type { AnyMessage } from './wire/wire-format.ts'

/** Most messages are one record and the largest a few, so the first look finds the entry nearly always. */
const FIRST_LOOKBACK = 8
/** Each has up to 900 kB, and they are read one after the other. A process that finds nothing resumes from the tables. */
const MAX_LOOKBACK = 512
/** A first join to a group takes the broker 3 s by default (`group.initial.rebalance.delay.ms`). */
const LOOKUP_TIMEOUT_MS = 30_000

export function lastEntry(kafka: Kafka, context: ReadContext): Promise<Entry<AnyMessage> | undefined> {
  return retryStep('ask', context, async () => {
    const { start, end } = await boundsIn(kafka, context)
    return newestUpTo(kafka, context, start, end - 1)
  })
}

export function entryAt(kafka: Kafka, context: ReadContext, offset: Offset): Promise<Entry<AnyMessage> | undefined> {
  return retryStep('ask', context, async () => {
    const { start, end } = await boundsIn(kafka, context)
    if (offset < start || offset >= end) return undefined
    const newest = await newestUpTo(kafka, context, start, offset)
    return newest?.offset === offset ? newest : undefined
  })
}

/** All records of the message whose last one is at this offset, as far as the topic still has them. */
export function recordsOf(kafka: Kafka, context: ReadContext, offset: Offset): Promise<StoredRecord[]> {
  return retryStep('ask', context, async () => {
    const { start, end } = await boundsIn(kafka, context)
    if (offset < start || offset >= end) return []
    const records: StoredRecord[] = []
    const keep = (record: StoredRecord) => records.push(record)
    await eachRecord(kafka, context, { start: offset, end: offset }, keep)
    const first = Math.max(start, offset - (records[0]?.part?.index ?? 0))
    if (first < offset) await eachRecord(kafka, context, { start: first, end: offset - 1 }, keep)
    return records.sort((a, b) => a.offset - b.offset)
  })
}

/** Where brokers have lost the topic, it is made again, and the next attempt finds it. */
export async function boundsIn(kafka: Kafka, { topic, ensure }: ReadContext): Promise<Bounds> {
  try {
    return await boundsOf(kafka, topic)
  } catch (error) {
    if (kafkaCodes(error).includes('UNKNOWN_TOPIC_OR_PARTITION')) await ensure()
    throw error
  }
}

/** Looks further and further back, since the end may be rubbish, or parts of a message that was never finished. Undefined where it is more than `MAX_LOOKBACK` records. */
async function newestUpTo(
  kafka: Kafka,
  context: ReadContext,
  start: Offset,
  end: Offset,
): Promise<Entry<AnyMessage> | undefined> {
  const { format } = context
  for (let look = FIRST_LOOKBACK; end >= start && look <= MAX_LOOKBACK; look *= 8) {
    const from = Math.max(start, end + 1 - look)
    const assemble = assembler(format)
    let newest: Entry<AnyMessage> | undefined
    await eachRecord(kafka, context, { start: from, end }, (record) => {
      const { offset, message } = assemble(record) ?? {}
      if (offset !== undefined && message && format.isStorable(message)) newest = { offset, message }
    })
    if (newest || from === start) return newest
  }
  return undefined
}

/** By a consumer in a group of its own, since kafkajs has no other way to fetch; the group is gone when it leaves. */
async function eachRecord(
  kafka: Kafka,
  { topic, format }: ReadContext,
  { start, end }: Bounds,
  take: (record: StoredRecord) => void,
): Promise<void> {
  const consumer = kafka.consumer({
    groupId: `candlepool.lookup.${randomUUID()}`,
    allowAutoTopicCreation: false,
    maxWaitTimeInMs: 50,
    retry: { ...CLIENT_RETRY, restartOnFailure: async () => false },
  })
  try {
    const fetched = new Promise<void>((resolve, reject) => {
      consumer.on(consumer.events.GROUP_JOIN, () => consumer.seek({ topic, partition: 0, offset: String(start) }))
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
      const run = async () => {
        await consumer.connect()
        await consumer.subscribe({ topic, fromBeginning: true })
        await consumer.run({
          autoCommit: false,
          async eachBatch({ batch }) {
            for (const message of batch.messages) {
              if (Number(message.offset) <= end) take(format.toStoredRecord(message))
            }
            if (Number(batch.lastOffset()) >= end) resolve()
          },
        })
      }
      run().catch(reject)
    })
    await withTimeout(fetched, LOOKUP_TIMEOUT_MS)
  } finally {
    await settledWithin(2000, consumer.disconnect())
  }
}
