/** The flush pipeline: a flush starts while the one before is being inserted, and they are recorded on the ledger in order. */

import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import { finishInsert, recordFlush, type StartedFlush, startFlush } from './flush.ts'
import type { PlacedMessage } from './rows.ts'
import type { WriterState } from './writer-state.ts'

export type FlushPipeline = {
  /** Resolves once the next flush may start. */
  begin(placed: readonly PlacedMessage[]): Promise<void>
  /** Resolves once every flush is on the ledger. */
  done(): Promise<void>
}

export type FlushListener = {
  /** The ticks and candles of this and all earlier flushes are stored. Called again if a later step fails. */
  onStored(flush: StartedFlush['event']): void
  /** The flush is on the ledger. */
  onRecorded(flush: StartedFlush, ms: number): void
}

/** `persist` retries until the tables answer. */
export function createFlushPipeline(
  client: ClickHouseClient,
  network: NetworkName,
  state: WriterState,
  persist: (task: () => Promise<void>) => Promise<void>,
  { onStored, onRecorded }: FlushListener,
): FlushPipeline {
  /** Messages that are not on the ledger yet, and the end of the newest flush. */
  let unfinished: readonly PlacedMessage[] = []
  let finishing: Promise<void> = Promise.resolve()

  async function begin(placed: readonly PlacedMessage[]): Promise<void> {
    const began = performance.now()
    const before = finishing
    unfinished = [...unfinished, ...placed]
    try {
      const flush = await startFlush(client, network, placed, state)
      finishing = finish(before, flush, began)
      // The next `begin` or `done` awaits it.
      finishing.catch(() => undefined)
      await (flush.isFolded ? before : finishing)
    } catch (error) {
      // A repetition must not overlap with a flush that is under way.
      await finishing.catch(() => undefined)
      await repeat(error)
    }
  }

  const insertAndRecord = async (flush: StartedFlush, before?: Promise<void>) => {
    await finishInsert(client, network, flush, state, before)
    onStored(flush.event)
    await recordFlush(client, network, flush, state)
  }

  async function finish(before: Promise<void>, flush: StartedFlush, began: number): Promise<void> {
    await insertAndRecord(flush, before)
    unfinished = unfinished.slice(flush.placed.length)
    onRecorded(flush, performance.now() - began)
  }

  /** The last statement that took effect is unknown: all unfinished messages are flushed again as one, and ClickHouse recomputes their candles. */
  async function repeat(error: unknown): Promise<void> {
    finishing = Promise.resolve()
    const placed = unfinished
    const began = performance.now()
    let failure = error
    let flush: StartedFlush | undefined
    await persist(async () => {
      if (failure) {
        const first = failure
        failure = undefined
        throw first
      }
      state.open.invalidateAll(Math.max(...placed.map(({ message }) => message.timestamp)))
      flush = await startFlush(client, network, placed, state)
      await insertAndRecord(flush)
    })
    unfinished = []
    if (flush) onRecorded(flush, performance.now() - began)
  }

  return { begin, done: () => finishing.catch(repeat) }
}
