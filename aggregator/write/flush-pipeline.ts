/** Flushes in a row: the next one begins while the one before is still on its way. They reach the ledger in their order. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import { type BegunFlush, beginFlush, type Placed } from './flush.ts'
import type { Keeping } from './writer-state.ts'

export type Flushes = {
  /** Resolves once the next one may begin. Everything placed is on the ledger once `done` resolves. */
  begin(placed: readonly Placed[]): Promise<void>
  done(): Promise<void>
}

export type FlushListener = {
  /** Its ticks and candles are in the tables, and those of all before it. Told again where what follows fails. */
  onStored(flush: BegunFlush): void
  /** It is on the ledger. */
  onRecorded(flush: BegunFlush, placed: readonly Placed[], ms: number): void
}

/** `persist` tries until the tables answer. */
export function flushesOf(
  client: ClickHouseClient,
  network: NetworkName,
  keeping: Keeping,
  persist: (task: () => Promise<void>) => Promise<void>,
  { onStored, onRecorded }: FlushListener,
): Flushes {
  /** What is not on the ledger yet, and how that ends. */
  let unfinished: readonly Placed[] = []
  let finishing: Promise<void> = Promise.resolve()

  async function begin(placed: readonly Placed[]): Promise<void> {
    const began = performance.now()
    const before = finishing
    unfinished = [...unfinished, ...placed]
    try {
      const flush = await beginFlush(client, network, placed, keeping)
      finishing = finish(before, placed, flush, began)
      // Whoever waits for it next sees the failure.
      finishing.catch(() => undefined)
      await (flush.isFolded ? before : finishing)
    } catch (error) {
      // None is done anew while another is under way.
      await finishing.catch(() => undefined)
      await again(error)
    }
  }

  async function finish(before: Promise<void>, placed: readonly Placed[], flush: BegunFlush, began: number) {
    await flush.store(before)
    onStored(flush)
    await flush.record()
    unfinished = unfinished.slice(placed.length)
    onRecorded(flush, placed, performance.now() - began)
  }

  /** How far the failed ones came is not known, so that they are done anew as one, by the tables. */
  async function again(error: unknown): Promise<void> {
    finishing = Promise.resolve()
    const placed = unfinished
    const began = performance.now()
    let failure = error
    let flush: BegunFlush | undefined
    await persist(async () => {
      if (failure) {
        const first = failure
        failure = undefined
        throw first
      }
      keeping.open.forgetAll(Math.max(...placed.map(({ message }) => message.timestamp)))
      flush = await beginFlush(client, network, placed, keeping)
      await flush.store()
      onStored(flush)
      await flush.record()
    })
    unfinished = []
    if (flush) onRecorded(flush, placed, performance.now() - began)
  }

  return {
    begin,
    async done() {
      try {
        await finishing
      } catch (error) {
        await again(error)
      }
    },
  }
}
