/** The assignment of the topic while processes and brokers are replaced. The cases of two aggregators and of retention are in kafka.int.test.ts. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Kafka, logLevel } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type KafkaLog, kafkaLog } from '../../../../infra/kafka/kafka.ts'
import type { Entry, Offset } from '../../../../ingest/model/tick-log.ts'
import { kafkaOrSkip } from '../../../support/kafka.ts'
import { type SecureCluster, startSecureCluster } from '../../../support/kafka-cluster.ts'
import { inSoak } from '../../../support/sample.ts'
import { messagesOf } from '../contract.ts'
import { blockMessage, blockMessages } from '../messages.ts'

const { skip } = kafkaOrSkip()

/** The messages of all members in the order of storing, as the tables would have them. */
type Stored = { entry: Entry; by: string }[]

class Member {
  readonly #stop = new AbortController()
  #done: Promise<void> = Promise.resolve()

  readonly log: KafkaLog
  readonly name: string
  readonly stored: Stored

  constructor(log: KafkaLog, name: string, stored: Stored) {
    this.log = log
    this.name = name
    this.stored = stored
  }

  start(): void {
    this.#done = this.#read()
  }

  /** As the aggregator does it: after an error that says so it starts again from what is stored. */
  async #read(): Promise<void> {
    const next = (): Offset => (this.stored.at(-1)?.entry.offset ?? -1) + 1
    while (!this.#stop.signal.aborted) {
      try {
        for await (const batch of this.log.read(next(), this.#stop.signal)) {
          if (batch.length > 0) await this.log.confirm?.()
          for (const entry of batch) this.stored.push({ entry, by: this.name })
        }
      } catch (error) {
        if (!(error instanceof Error && 'retryable' in error && error.retryable === true)) throw error
      }
    }
  }

  async leave(): Promise<void> {
    this.#stop.abort()
    await this.#done
    await this.log.close()
  }
}

describe.skipIf(skip || inSoak.skip)('three brokers', () => {
  let cluster: SecureCluster
  beforeAll(async () => {
    cluster = await startSecureCluster({ size: 3 })
  })
  afterAll(() => cluster?.stop())

  async function open(prefix: string, stored: Stored, name: string): Promise<Member> {
    const log = await kafkaLog({
      brokers: cluster.operatorBrokers,
      network: 'ethereum',
      prefix,
      sessionTimeoutMs: 6_000,
      topics: { create: true, replicas: 3 },
      report: () => {},
    })
    return new Member(log, name, stored)
  }

  test('rolling restart: each message is stored once, in order, whichever member reads', async () => {
    const prefix = 'rolling.'
    const stored: Stored = []
    const writer = await open(prefix, [], 'writer')
    let members = [await open(prefix, stored, 'old-0'), await open(prefix, stored, 'old-1')]
    for (const member of members) member.start()
    let number = 0
    let isAppending = true
    const appending = (async () => {
      while (isAppending) {
        await writer.log.append([blockMessage(++number)])
        await sleep(5)
      }
    })()
    const reader = () => stored.at(-1)?.by
    await expect.poll(reader).toBeDefined()
    for (const round of [1, 2, 3]) {
      const reading = members.find(({ name }) => name === reader())
      const replacement = await open(prefix, stored, `new-${round}`)
      replacement.start()
      members = [...members.filter((member) => member !== reading), replacement]
      await reading?.leave()
      await expect.poll(reader).not.toBe(reading?.name)
    }
    isAppending = false
    await appending
    await expect.poll(() => stored.length).toBeGreaterThanOrEqual(number)
    for (const member of [...members, writer]) await member.leave()
    expect(messagesOf(stored.map(({ entry }) => entry))).toStrictEqual(blockMessages(1, number))
    expect(new Set(stored.map(({ by }) => by)).size).toBe(4)
  })

  test('broker lost: the leader of the topic is killed, and appends and reads continue without it', async () => {
    const stored: Stored = []
    const { member, leader } = await openAwayFromController(stored)
    member.start()
    await member.log.append(blockMessages(1, 5))
    await expect.poll(() => stored.length).toBe(5)
    await cluster.nodes[leader - 1]?.kill()
    await member.log.append(blockMessages(6, 10))
    await expect.poll(() => stored.length).toBe(10)
    await cluster.nodes[leader - 1]?.restart()
    await member.log.append(blockMessages(11, 12))
    await expect.poll(() => stored.length).toBe(12)
    await member.leave()
    expect(messagesOf(stored.map(({ entry }) => entry))).toStrictEqual(blockMessages(1, 12))
  })

  /** Node ids begin at 1. The controller runs in the first node, which is not to be killed. */
  async function openAwayFromController(stored: Stored): Promise<{ member: Member; leader: number }> {
    const admin = new Kafka({ brokers: cluster.operatorBrokers, logLevel: logLevel.NOTHING }).admin()
    await admin.connect()
    for (let attempt = 0; ; attempt++) {
      const member = await open(`lost-${attempt}.`, stored, 'reader')
      const { topics } = await admin.fetchTopicMetadata({ topics: [`lost-${attempt}.blocks.ethereum`] })
      const leader = topics[0]?.partitions[0]?.leader ?? 0
      if (leader > 1) {
        await admin.disconnect()
        return { member, leader }
      }
      await member.leave()
    }
  }
})
