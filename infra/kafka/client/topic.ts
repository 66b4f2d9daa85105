/** Topics: made where they are missing, or checked where the operator makes them. */
import type { Admin, Kafka } from 'kafkajs'
import type { Offset } from '../../../ingest/model/tick-log.ts'
import type { TopicRules } from '../../config/kafka-config.ts'
import { settledWithin } from '../../lib/with-timeout.ts'
import { kafkajs } from '../wire/kafkajs.ts'
import { TopicUnsuitable } from './errors.ts'
import { type RetryContext, retryStep } from './retry.ts'

/** Long enough for an aggregator that was down over a weekend; older messages are in the tables. */
export const RETENTION_MS = 7 * 24 * 60 * 60 * 1000
const MAX_REPLICAS = 3

/** `start` is the oldest kept offset, `end` the one that the next record will have. */
export type Bounds = { start: Offset; end: Offset }

/** `single`: its order is the chain's, which more than one partition would lose. */
export type TopicPlan = { topic: string; partitions: 'single' | 'any'; cleanup: 'delete' | 'compact' }

export const STREAM_TOPIC = { partitions: 'single', cleanup: 'delete' } as const

export type TopicContext = RetryContext & { rules: TopicRules }

/** `configs`: in Kafka's own names. */
type Settings = { replicas: number; configs: Readonly<Record<string, string>> }

/**
 * Makes the topic if it is missing. Its settings are the operator's choice afterwards, except for a single partition; where the operator makes
 * topics (`create: false`), every difference is an error. Rejects with `TopicUnsuitable`.
 */
export async function ensureTopic(kafka: Kafka, context: TopicContext, plan: TopicPlan): Promise<void> {
  const { rules, report } = context
  const { topic } = plan
  const problems = await retryStep('open', { ...context, topic }, () =>
    withAdmin(kafka, async (admin) => {
      const { brokers } = await admin.describeCluster()
      const settings = settingsOf(plan, rules, brokers.length)
      if (!(await admin.listTopics()).includes(topic)) {
        if (!rules.create) return [`it is missing. Make it: ${commandFor(plan, settings)}`]
        const made = await make(admin, plan, settings)
        const retentionMs = Number(settings.configs['retention.ms'] ?? -1)
        if (made) report({ kind: 'log-topic-made', topic, replicas: settings.replicas, retentionMs })
      }
      const found = await describe(admin, topic, rules)
      const partitionProblems =
        plan.partitions === 'single' && found.partitions !== 1
          ? [
              `it has ${found.partitions} partitions, so the order of the chain is lost in it. Delete it, and make it with one`,
            ]
          : []
      return rules.create ? partitionProblems : [...partitionProblems, ...differences(found, settings, rules)]
    }),
  )
  if (problems.length > 0) throw new TopicUnsuitable(topic, problems)
}

function settingsOf({ cleanup }: TopicPlan, rules: TopicRules, brokers: number): Settings {
  const replicas = rules.replicas ?? Math.min(MAX_REPLICAS, brokers)
  // Acknowledged means on two machines where there are three.
  const inSync = rules.minInsyncReplicas ?? Math.max(1, replicas - 1)
  const retention = { 'retention.ms': String(rules.retentionMs ?? RETENTION_MS), 'retention.bytes': '-1' }
  return {
    replicas,
    configs: {
      'cleanup.policy': cleanup,
      ...(cleanup === 'delete' && retention),
      'min.insync.replicas': String(inSync),
    },
  }
}

function make(admin: Admin, { topic }: TopicPlan, { replicas, configs }: Settings): Promise<boolean> {
  const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
  return admin.createTopics({
    waitForLeaders: true,
    topics: [{ topic, numPartitions: 1, replicationFactor: replicas, configEntries }],
  })
}

type Found = { partitions: number; replicas: number; configs: ReadonlyMap<string, string> }

/** The settings are read only where they are compared: that needs a right that writing does not. */
async function describe(admin: Admin, topic: string, { create }: TopicRules): Promise<Found> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  const partitions = topics[0]?.partitions ?? []
  const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic }]
  const described = create ? undefined : await admin.describeConfigs({ includeSynonyms: false, resources })
  const entries = described?.resources[0]?.configEntries ?? []
  return {
    partitions: partitions.length,
    replicas: Math.min(...partitions.map(({ replicas }) => replicas.length)),
    configs: new Map(entries.map(({ configName, configValue }) => [configName, configValue])),
  }
}

/** A setting that the operator did not choose here may be larger than the default. */
function differences(found: Found, { replicas, configs }: Settings, rules: TopicRules): string[] {
  const is = (name: string) => found.configs.get(name) ?? 'unknown'
  const problems: string[] = []
  const cleanup = configs['cleanup.policy']
  if (is('cleanup.policy') !== cleanup) problems.push(`cleanup.policy is ${is('cleanup.policy')}, not ${cleanup}`)
  if (rules.replicas !== undefined && found.replicas !== replicas)
    problems.push(`it has ${found.replicas} replicas, and KAFKA_REPLICATION is ${replicas}`)
  const inSync = configs['min.insync.replicas']
  if (rules.minInsyncReplicas !== undefined && is('min.insync.replicas') !== inSync)
    problems.push(`min.insync.replicas is ${is('min.insync.replicas')}, and KAFKA_MIN_INSYNC_REPLICAS is ${inSync}`)
  const retention = configs['retention.ms']
  const kept = Number(is('retention.ms'))
  const isShort = rules.retentionMs === undefined ? kept >= 0 && kept < RETENTION_MS : String(kept) !== retention
  if (retention !== undefined && isShort) problems.push(`retention.ms is ${kept}, not ${retention}`)
  return problems
}

function commandFor({ topic }: TopicPlan, { replicas, configs }: Settings): string {
  const settings = Object.entries(configs).map(([name, value]) => `--config ${name}=${value}`)
  return [
    'kafka-topics.sh --create',
    `--topic ${topic}`,
    '--partitions 1',
    `--replication-factor ${replicas}`,
    ...settings,
  ].join(' ')
}

export function boundsOf(kafka: Kafka, topic: string): Promise<Bounds> {
  return withAdmin(kafka, async (admin) => {
    const [partition] = await admin.fetchTopicOffsets(topic)
    if (!partition) throw new Error(`The topic ${topic} has no partition.`)
    return { start: Number(partition.low), end: Number(partition.high) }
  })
}

export async function withAdmin<T>(kafka: Kafka, work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin()
  try {
    await admin.connect()
    return await work(admin)
  } finally {
    await settledWithin(2000, admin.disconnect())
  }
}
