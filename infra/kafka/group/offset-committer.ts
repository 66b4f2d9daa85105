/** Commits offsets: operators see lag by them, and the broker rejects commits of a member that the group has dropped. */
import type { Consumer } from 'kafkajs'
import { pause } from '../../../ingest/lib/wait.ts'
import type { Offset } from '../../../ingest/model/tick-log.ts'
import { settledWithin } from '../../lib/with-timeout.ts'

const COMMIT_EVERY_MS = 1000

export class OffsetCommitter {
  readonly #consumer: Consumer
  readonly #topic: string
  #storedUpTo: Offset | undefined
  #timer: NodeJS.Timeout | undefined
  /** Commits that the broker has accepted. */
  #accepted = 0

  constructor(consumer: Consumer, topic: string) {
    this.#consumer = consumer
    this.#topic = topic
    consumer.on(consumer.events.COMMIT_OFFSETS, () => {
      this.#accepted++
    })
  }

  /** Commits the offset within `COMMIT_EVERY_MS`. */
  stored(offset: Offset): void {
    this.#storedUpTo = offset
    this.#timer ??= setTimeout(() => void this.#commitStored(), COMMIT_EVERY_MS).unref()
  }

  /** Resolves once the broker has accepted a commit of `offset`: commits fail during a rebalance, so they are repeated until `isOver`. */
  async confirm(offset: Offset, isOver: () => boolean, signal: AbortSignal): Promise<void> {
    const before = this.#accepted
    while (!isOver() && this.#accepted === before) {
      await settledWithin(1000, this.#commit(offset))
      if (this.#accepted === before) await pause(20, signal)
    }
  }

  /** Commits the stored offsets, for at most a second. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await settledWithin(1000, this.#commitStored())
  }

  async #commitStored(): Promise<void> {
    this.#timer = undefined
    if (this.#storedUpTo === undefined) return
    const next = this.#storedUpTo + 1
    this.#storedUpTo = undefined
    // Fails during a rebalance: the next commit includes this offset.
    await this.#commit(next).catch(() => {})
  }

  #commit(offset: Offset): Promise<void> {
    return this.#consumer.commitOffsets([{ topic: this.#topic, partition: 0, offset: String(offset) }])
  }
}
