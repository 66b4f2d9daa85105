/** One membership in the network's consumer group, from joining to leaving. */

import type { EachBatchPayload, Kafka } from 'kafkajs'
import { pause } from '../../ingest/lib/wait.ts'
import { ticksIn } from '../../ingest/model/message.ts'
import type { Entry, Offset } from '../../ingest/model/tick-log.ts'
import { settledWithin } from '../lib/with-timeout.ts'
import { backpressureBuffer } from './backpressure-buffer.ts'
import { AssignmentLost, PositionGone, PositionStale } from './errors.ts'
import { assembler, type Rejected } from './parts.ts'
import type { ReaderOptions } from './reader.ts'
import { OUTAGE_RETRY, type RetryContext, refusalOf, retried } from './retry.ts'
import { type OwnershipClaim, singleOwnerAssignor } from './single-owner-assignor.ts'
import { toStoredRecord } from './stored-record.ts'
import { boundsOf } from './topic.ts'
import type { AnyMessage } from './wire-format.ts'

export type Batch = {
  entries: readonly Entry<AnyMessage>[]
  rejected: readonly Rejected[]
  /** Messages and ticks. */
  size: number
}

export type OpenedReader = {
  /** The next batch, of which the first is empty; undefined once stopped. */
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
const COMMIT_EVERY_MS = 1000
const LEAVE_TIMEOUT_MS = 5000

export function openReader(
  kafka: Kafka,
  context: RetryContext,
  { group, sessionTimeoutMs }: ReaderOptions,
  from: Offset,
  askedAt: number,
): OpenedReader {
  const { topic, report } = context
  const heartbeatInterval = Math.min(1000, Math.floor(sessionTimeoutMs / 5))
  const claim: OwnershipClaim = { since: 0 }
  const batches = backpressureBuffer<Batch>({
    merge: (earlier, later) => ({
      entries: [...earlier.entries, ...later.entries],
      rejected: [...earlier.rejected, ...later.rejected],
      size: earlier.size + later.size,
    }),
    isFull: ({ size }) => size >= MAX_BUFFERED,
  })
  let rejected: Rejected[] = []
  const assemble = assembler({
    onDropped: (dropped) => report({ kind: 'log-parts-dropped', topic, ...dropped }),
    onRejected: (message) => rejected.push(message),
  })
  const consumer = kafka.consumer({
    groupId: group,
    partitionAssigners: [singleOwnerAssignor(claim)],
    sessionTimeout: sessionTimeoutMs,
    rebalanceTimeout: 2 * sessionTimeoutMs,
    heartbeatInterval,
    maxWaitTimeInMs: FETCH_WAIT_MS,
    allowAutoTopicCreation: false,
    retry: { ...OUTAGE_RETRY, restartOnFailure: async () => false },
  })
  /** The member that was given the topic; undefined before. */
  let member: string | undefined
  /** The next record to fetch. */
  let position = from
  let begun = false
  let steppedBack = false
  let ended = false
  let failure: Error | undefined
  let stoodBy = false

  function seek(): void {
    consumer.seek({ topic, partition: 0, offset: String(position) })
  }

  function standBy(): void {
    if (!stoodBy) report({ kind: 'log-standing-by', topic, group })
    stoodBy = true
  }

  /** Leaves at once: kafkajs would keep fetching while the caller still stores. */
  function fail(error: Error): void {
    ended = true
    failure ??= error
    batches.fail(error)
    void leave()
  }

  consumer.on(consumer.events.GROUP_JOIN, ({ payload: { memberId, memberAssignment } }) => {
    const ours = memberAssignment[topic]?.includes(0) === true
    if (member === undefined) {
      if (!ours) return standBy()
      member = memberId
      if (stoodBy || Date.now() - askedAt > sessionTimeoutMs) return fail(new PositionStale(topic, from))
      claim.since = Date.now()
      report({ kind: 'log-reading', topic, group, position: from })
      // An empty first batch signals the assignment; MAX_BUFFERED prevents merging into it.
      batches.put({ entries: [], rejected: [], size: MAX_BUFFERED })
      void failPastTheEnd()
    } else if (!ours) {
      return fail(new AssignmentLost(topic, 'another process reads now'))
    } else if (memberId !== member) {
      return fail(new AssignmentLost(topic, 'the broker had given this process up for a while'))
    }
    // In here, for the next fetch must not start at the committed offset.
    seek()
  })

  consumer.on(consumer.events.CRASH, ({ payload: { error } }) => {
    const lost = member === undefined ? error : new AssignmentLost(topic, error.message, { cause: error })
    fail(refusalOf(topic, 'read', error) ?? lost)
  })

  /** kafkajs would restart at the oldest record, and only once there is one. */
  async function failPastTheEnd(): Promise<void> {
    const bounds = await retried('ask', context, () => boundsOf(kafka, topic)).catch(() => undefined)
    if (bounds && from > bounds.end) fail(new PositionGone(topic, from, bounds.end))
  }

  async function onBatch({ batch, heartbeat, resolveOffset, isStale }: EachBatchPayload): Promise<void> {
    // A rebalance shows in the heartbeat, which throws: the batch is fetched again, by us or by the next holder.
    while (!(await batches.room(heartbeatInterval))) {
      if (ended) return
      await heartbeat()
    }
    const records = batch.messages.map(toStoredRecord)
    const [first] = records
    if (ended || isStale() || !first) return
    if (first.offset < position) return fail(new PositionGone(topic, position, first.offset))
    if (!steppedBack && !begun && first.offset === position && first.part && first.part.index > 0) {
      // `from` is the offset of a message's last part: back to its first.
      steppedBack = true
      position = Math.max(0, position - first.part.index)
      return seek()
    }
    if (first.offset > Math.max(position, from)) {
      report({ kind: 'log-begins-later', topic, position: Math.max(position, from), begins: first.offset })
    }
    begun = true
    rejected = []
    const isWanted = ({ offset }: { offset: Offset }) => offset >= from
    const entries = records.flatMap((record) => assemble(record) ?? []).filter(isWanted)
    rejected = rejected.filter(isWanted)
    const size = entries.reduce((sum, { message }) => sum + 1 + ticksIn(message), rejected.length)
    if (size > 0) batches.put({ entries, rejected, size })
    position = Number(batch.lastOffset()) + 1
    resolveOffset(batch.lastOffset())
  }

  let storedUpTo: Offset | undefined
  let commitTimer: NodeJS.Timeout | undefined

  async function commit(): Promise<void> {
    commitTimer = undefined
    if (storedUpTo === undefined) return
    const offset = String(storedUpTo + 1)
    storedUpTo = undefined
    // Fails during a rebalance: the next commit includes this offset.
    await consumer.commitOffsets([{ topic, partition: 0, offset }]).catch(() => {})
  }

  /** Commits accepted by the broker, which rejects those of a member that the group has dropped. */
  let commits = 0
  consumer.on(consumer.events.COMMIT_OFFSETS, () => {
    commits++
  })

  /** Commits fail during a rebalance, so they are repeated until the broker accepts one or the topic is lost. */
  async function confirm(): Promise<void> {
    const before = commits
    while (!ended && commits === before) {
      await settledWithin(1000, consumer.commitOffsets([{ topic, partition: 0, offset: String(from) }]))
      if (commits === before) await pause(20, context.closed)
    }
    if (ended) throw failure ?? new AssignmentLost(topic, 'this process has left the group')
  }

  async function run(): Promise<void> {
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: onBatch })
  }
  const running = run().catch((error: Error) => fail(error))

  let leaving: Promise<void> | undefined
  function leave(): Promise<void> {
    leaving ??= disconnect()
    return leaving
  }
  async function disconnect(): Promise<void> {
    ended = true
    batches.close()
    clearTimeout(commitTimer)
    await settledWithin(1000, commit())
    // A join under way can't be called off, and would stay in the group if it were not waited for.
    await settledWithin(
      LEAVE_TIMEOUT_MS,
      running.then(() => consumer.disconnect()),
    )
  }

  return {
    take: batches.take,
    stored(offset) {
      storedUpTo = offset
      commitTimer ??= setTimeout(() => void commit(), COMMIT_EVERY_MS).unref()
    },
    assigned: () => member !== undefined,
    confirm,
    stop() {
      ended = true
      batches.close()
    },
    leave,
  }
}
