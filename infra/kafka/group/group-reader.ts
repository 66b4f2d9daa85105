/** One membership in the network's consumer group, from joining to leaving. */

import type { Consumer, ConsumerCrashEvent, ConsumerGroupJoinEvent, EachBatchPayload, Kafka } from 'kafkajs'
import type { Offset } from '../../../ingest/model/tick-log.ts'
import { settledWithin } from '../../lib/with-timeout.ts'
import { AssignmentLost, PositionGone, PositionStale } from '../client/errors.ts'
import { OUTAGE_RETRY, refusalOf, retryStep } from '../client/retry.ts'
import { boundsOf } from '../client/topic.ts'
import { backpressureBuffer } from './backpressure-buffer.ts'
import { OffsetCommitter } from './offset-committer.ts'
import type { ReadContext } from './record-batches.ts'
import { type Batch, RecordBatches } from './record-batches.ts'
import { type OwnershipClaim, singleOwnerAssignor } from './single-owner-assignor.ts'

export type ReaderOptions = { group: string; sessionTimeoutMs: number }

export type OpenedReader = {
  /** The next batch; the first one is empty. Undefined once stopped. */
  take(): Promise<Batch | undefined>
  /** Only for operators, who see lag by committed offsets. */
  stored(offset: Offset): void
  /** Whether the topic was ever this member's. */
  assigned(): boolean
  /** Resolves where the group still has the topic read by this member; throws why not. */
  confirm(): Promise<void>
  stop(): void
  leave(): Promise<void>
}

/** Wait in the broker while nothing is new; a message that comes ends it at once. */
const FETCH_WAIT_MS = 50
/** Messages and ticks buffered during a flush; the rest stays in the broker. */
const MAX_BUFFERED = 50_000
const LEAVE_TIMEOUT_MS = 5000

/** Joins the group. `askedAt`: when the caller read `from`, by `performance.now()`; an assignment after more than the session timeout is stale. */
export function openReader(
  kafka: Kafka,
  context: ReadContext,
  options: ReaderOptions,
  from: Offset,
  askedAt: number,
): OpenedReader {
  return new GroupMember(kafka, context, options, from, askedAt)
}

class GroupMember implements OpenedReader {
  readonly #kafka: Kafka
  readonly #context: ReadContext
  readonly #options: ReaderOptions
  readonly #from: Offset
  readonly #askedAt: number
  readonly #claim: OwnershipClaim = { since: 0 }
  readonly #batches = backpressureBuffer<Batch>({
    merge: (earlier, later) => ({
      entries: [...earlier.entries, ...later.entries],
      rejected: [...earlier.rejected, ...later.rejected],
      size: earlier.size + later.size,
    }),
    isFull: ({ size }) => size >= MAX_BUFFERED,
  })
  readonly #consumer: Consumer
  readonly #records: RecordBatches
  readonly #committer: OffsetCommitter
  readonly #running: Promise<void>
  readonly #heartbeatMs: number
  /** The member that was given the topic; undefined before. */
  #member: string | undefined
  #stoodBy = false
  #ended = false
  #failure: Error | undefined
  #leaving: Promise<void> | undefined

  constructor(kafka: Kafka, context: ReadContext, options: ReaderOptions, from: Offset, askedAt: number) {
    const { group, sessionTimeoutMs } = options
    this.#kafka = kafka
    this.#context = context
    this.#options = options
    this.#from = from
    this.#askedAt = askedAt
    this.#heartbeatMs = Math.min(1000, Math.floor(sessionTimeoutMs / 5))
    this.#records = new RecordBatches(context, from)
    this.#consumer = kafka.consumer({
      groupId: group,
      partitionAssigners: [singleOwnerAssignor(this.#claim)],
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: 2 * sessionTimeoutMs,
      heartbeatInterval: this.#heartbeatMs,
      maxWaitTimeInMs: FETCH_WAIT_MS,
      allowAutoTopicCreation: false,
      retry: { ...OUTAGE_RETRY, restartOnFailure: async () => false },
    })
    this.#committer = new OffsetCommitter(this.#consumer, context.topic)
    this.#consumer.on(this.#consumer.events.GROUP_JOIN, (event) => this.#onJoin(event))
    this.#consumer.on(this.#consumer.events.CRASH, (event) => this.#onCrash(event))
    this.#running = this.#run().catch((error: Error) => this.#fail(error))
  }

  take(): Promise<Batch | undefined> {
    return this.#batches.take()
  }

  stored(offset: Offset): void {
    this.#committer.stored(offset)
  }

  assigned(): boolean {
    return this.#member !== undefined
  }

  async confirm(): Promise<void> {
    await this.#committer.confirm(this.#from, () => this.#ended, this.#context.closed)
    if (this.#ended) throw this.#failure ?? new AssignmentLost(this.#context.topic, 'this process has left the group')
  }

  stop(): void {
    this.#ended = true
    this.#batches.close()
  }

  leave(): Promise<void> {
    this.#leaving ??= this.#disconnect()
    return this.#leaving
  }

  async #run(): Promise<void> {
    await this.#consumer.connect()
    await this.#consumer.subscribe({ topic: this.#context.topic, fromBeginning: true })
    await this.#consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: (payload) => this.#onBatch(payload),
    })
  }

  async #disconnect(): Promise<void> {
    this.stop()
    await this.#committer.close()
    // A join under way can't be called off, and would stay in the group if it were not waited for.
    await settledWithin(
      LEAVE_TIMEOUT_MS,
      this.#running.then(() => this.#consumer.disconnect()),
    )
  }

  /** Leaves at once: kafkajs would keep fetching while the caller still stores. */
  #fail(error: Error): void {
    this.#ended = true
    this.#failure ??= error
    this.#batches.fail(error)
    void this.leave()
  }

  #seek(): void {
    this.#consumer.seek({ topic: this.#context.topic, partition: 0, offset: String(this.#records.position) })
  }

  #onJoin({ payload: { memberId, memberAssignment } }: ConsumerGroupJoinEvent): void {
    const isAssigned = memberAssignment[this.#context.topic]?.includes(0) === true
    const isFirst = this.#member === undefined
    if (isFirst && !isAssigned) {
      this.#standBy()
      return
    }
    this.#member ??= memberId
    const error = this.#assignmentError(isFirst, isAssigned, memberId)
    if (error) {
      this.#fail(error)
      return
    }
    if (isFirst) this.#begin()
    // In here, for the next fetch must not start at the committed offset.
    this.#seek()
  }

  #assignmentError(isFirst: boolean, isAssigned: boolean, memberId: string): Error | undefined {
    const { topic } = this.#context
    if (isFirst) {
      const isStale = this.#stoodBy || performance.now() - this.#askedAt > this.#options.sessionTimeoutMs
      return isStale ? new PositionStale(topic, this.#from) : undefined
    }
    if (!isAssigned) return new AssignmentLost(topic, 'another process reads now')
    if (memberId !== this.#member) return new AssignmentLost(topic, 'the broker had given this process up for a while')
    return undefined
  }

  #standBy(): void {
    const { topic, report } = this.#context
    if (!this.#stoodBy) report({ kind: 'log-standing-by', topic, group: this.#options.group })
    this.#stoodBy = true
  }

  #begin(): void {
    const { topic, report } = this.#context
    this.#claim.since = Date.now()
    report({ kind: 'log-reading', topic, group: this.#options.group, position: this.#from })
    // An empty first batch signals the assignment; MAX_BUFFERED prevents merging into it.
    this.#batches.put({ entries: [], rejected: [], size: MAX_BUFFERED })
    void this.#failPastTheEnd()
  }

  #onCrash({ payload: { error } }: ConsumerCrashEvent): void {
    const { topic } = this.#context
    const lost = this.#member === undefined ? error : new AssignmentLost(topic, error.message, { cause: error })
    this.#fail(refusalOf(topic, 'read', error) ?? lost)
  }

  /** kafkajs would restart at the oldest record, and only once there is one. */
  async #failPastTheEnd(): Promise<void> {
    const { topic } = this.#context
    const bounds = await retryStep('ask', this.#context, () => boundsOf(this.#kafka, topic)).catch(() => undefined)
    if (bounds && this.#from > bounds.end) this.#fail(new PositionGone(topic, this.#from, bounds.end))
  }

  async #onBatch({ batch, heartbeat, resolveOffset, isStale }: EachBatchPayload): Promise<void> {
    // A rebalance shows in the heartbeat, which throws: the batch is fetched again, by this member or the next one.
    while (!(await this.#batches.room(this.#heartbeatMs))) {
      if (this.#ended) return
      await heartbeat()
    }
    if (this.#ended || isStale()) return
    const { position } = this.#records
    const read = this.#records.read(batch.messages, Number(batch.lastOffset()))
    if (read?.kind === 'gone') return this.#fail(new PositionGone(this.#context.topic, position, read.first))
    if (read?.kind === 'step-back') return this.#seek()
    if (!read) return
    if (read.batch.size > 0) this.#batches.put(read.batch)
    resolveOffset(batch.lastOffset())
  }
}
