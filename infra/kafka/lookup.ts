/** Reads single entries of the topic, to find its end before reading or writing. */

import { randomUUID } from 'node:crypto'
import type { Kafka } from 'kafkajs'
import type { Entry, Offset } from '../../ingest/model/tick-log.ts'
import { settledWithin, withTimeout } from '../lib/with-timeout.ts'
import { assembler, type StoredRecord } from './parts.ts'
import { CLIENT_RETRY, type RetryContext, retryStep } from './retry.ts'
import { toStoredRecord } from './stored-record.ts'
import { boundsOf } from './topic.ts'
import type { AnyMessage } from './wire-format.ts'

/** Most messages are one record and the largest a few, so the first look finds the entry nearly always. */
const FIRST_LOOKBACK = 8
/** A first join to a group takes the broker 3 s by default (`group.initial.rebalance.delay.ms`). */
const LOOKUP_TIMEOUT_MS = 30_000

export function lastEntry(kafka: Kafka, context: RetryContext): Promise<Entry<AnyMessage> | undefined> {
  return retryStep('ask', context, async () => {
    const { start, end } = await boundsOf(kafka, context.topic)
    return newestUpTo(kafka, context.topic, start, end - 1)
  })
}

export function entryAt(kafka: Kafka, context: RetryContext, offset: Offset): Promise<Entry<AnyMessage> | undefined> {
  return retryStep('ask', context, async () => {
    const { start, end } = await boundsOf(kafka, context.topic)
    if (offset < start || offset >= end) return undefined
    const newest = await newestUpTo(kafka, context.topic, start, offset)
    return newest?.offset === offset ? newest : undefined
  })
}

/** All records of the message whose last one is at this offset, as far as the topic still has them. */
export function recordsOf(kafka: Kafka, context: RetryContext, offset: Offset): Promise<StoredRecord[]> {
  return retryStep('ask', context, async () => {
    const { start, end } = await boundsOf(kafka, context.topic)
    if (offset < start || offset >= end) return []
    const [last] = await recordsBetween(kafka, context.topic, offset, offset)
    const first = Math.max(start, offset - (last?.part?.index ?? 0))
    return first < offset ? recordsBetween(kafka, context.topic, first, offset) : last ? [last] : []
  })
}

/** Looks further and further back, since the end may be rubbish, or parts of a message that was never finished. */
async function newestUpTo(
  kafka: Kafka,
  topic: string,
  start: Offset,
  end: Offset,
): Promise<Entry<AnyMessage> | undefined> {
  for (let look = FIRST_LOOKBACK; end >= start; look *= 8) {
    const from = Math.max(start, end + 1 - look)
    const assemble = assembler({})
    const newest = (await recordsBetween(kafka, topic, from, end))
      .map(assemble)
      .findLast((entry) => entry !== undefined)
    if (newest || from === start) return newest
  }
  return undefined
}

/** By a consumer in a group of its own, since kafkajs has no other way to fetch; the group is gone when it leaves. */
async function recordsBetween(kafka: Kafka, topic: string, start: Offset, end: Offset): Promise<StoredRecord[]> {
  const consumer = kafka.consumer({
    groupId: `candlepool.lookup.${randomUUID()}`,
    allowAutoTopicCreation: false,
    maxWaitTimeInMs: 50,
    retry: { ...CLIENT_RETRY, restartOnFailure: async () => false },
  })
  const records: StoredRecord[] = []
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
              if (Number(message.offset) <= end) records.push(toStoredRecord(message))
            }
            if (Number(batch.lastOffset()) >= end) resolve()
          },
        })
      }
      run().catch(reject)
    })
    await withTimeout(fetched, LOOKUP_TIMEOUT_MS)
    return records
  } finally {
    await settledWithin(2000, consumer.disconnect())
  }
}
