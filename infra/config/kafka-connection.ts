/** How Kafka is reached, and what its topics are made like. */
import type { KafkaConfig } from 'kafkajs'

export type KafkaConnection = {
  brokers: readonly string[]
  /** Before the names of topics and groups, where several deployments share a cluster. */
  prefix?: string
  security?: Pick<KafkaConfig, 'ssl' | 'sasl'>
  topics?: TopicRules
  compression?: Compression
  /** Records are signed with the first, and read where one of them has signed; absent: no record is signed. */
  signingKeys?: readonly [string, ...string[]] | undefined
}

export const COMPRESSIONS = ['gzip', 'none'] as const
export type Compression = (typeof COMPRESSIONS)[number]

export type TopicRules = {
  /** False: a missing topic is an error, and so is one with other settings. */
  create: boolean
  /** Absent: 3, or as many brokers as there are where they are fewer. */
  replicas?: number | undefined
  /** Absent: one fewer than the replicas, at least one. */
  minInsyncReplicas?: number | undefined
  /** Absent: 7 days. */
  retentionMs?: number | undefined
}
