/** The topic of a network: one partition, since its order is the chain's. */

import type { Admin, Kafka } from 'kafkajs'
import type { Offset } from '../../ingest/model/tick-log.ts'
import { settledWithin } from '../lib/with-timeout.ts'
import { type RetryContext, retried } from './retry.ts'

/** Long enough for an aggregator that was down over a weekend; older messages are in the tables. */
export const RETENTION_MS = 7 * 24 * 60 * 60 * 1000
const MAX_REPLICAS = 3

/** `start` is the oldest kept offset, `end` the one that the next record will have. */
export type Bounds = { start: Offset; end: Offset }

/** Makes the topic if it is missing. The settings of one that exists are its operator's choice, except for the single partition. */
export async function ensureTopic(kafka: Kafka, context: RetryContext): Promise<void> {
  const { topic, report } = context
  const partitions = await retried('open', context, () =>
    withAdmin(kafka, async (admin) => {
      if (!(await admin.listTopics()).includes(topic)) {
        const { brokers } = await admin.describeCluster()
        const replicas = Math.min(MAX_REPLICAS, brokers.length)
        const settings = {
          'cleanup.policy': 'delete',
          'retention.ms': String(RETENTION_MS),
          'retention.bytes': '-1',
          // Acknowledged means on two machines where there are three.
          'min.insync.replicas': String(Math.max(1, replicas - 1)),
        }
        const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }))
        const made = await admin.createTopics({
          waitForLeaders: true,
          topics: [{ topic, numPartitions: 1, replicationFactor: replicas, configEntries }],
        })
        if (made) report({ kind: 'log-topic-made', topic, replicas, retentionMs: RETENTION_MS })
      }
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
      return topics[0]?.partitions.length ?? 0
    }),
  )
  if (partitions !== 1) {
    throw new Error(
      `The topic ${topic} has ${partitions} partitions, so the order of the chain is lost in it. Delete it: it is recreated with one.`,
    )
  }
}

export function boundsOf(kafka: Kafka, topic: string): Promise<Bounds> {
  return withAdmin(kafka, async (admin) => {
    const [partition] = await admin.fetchTopicOffsets(topic)
    if (!partition) throw new Error(`The topic ${topic} has no partition.`)
    return { start: Number(partition.low), end: Number(partition.high) }
  })
}

async function withAdmin<T>(kafka: Kafka, work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin()
  try {
    await admin.connect()
    return await work(admin)
  } finally {
    await settledWithin(2000, admin.disconnect())
  }
}
