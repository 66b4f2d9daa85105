/** Flushes in a row: the next one begins while the candles and the ledger of the one before are still on their way. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../ingest/network.ts'
import { type BegunFlush, beginFlush, type Placed } from './flush.ts'
import type { Keeping } from './keeping.ts'

export type Flushes = {
  /** Resolves once its ticks are stored; may be called again then. Everything placed is on the ledger once `done` resolves. */
  begin(placed: readonly Placed[]): Promise<void>
  done(): Promise<void>
}

/** `persist` tries until the tables answer. */
export function flushesOf(
  client: ClickHouseClient,
  network: NetworkName,
  keeping: Keeping,
  persist: (task: () => Promise<void>) => Promise<void>,
  onStored: (placed: readonly Placed[], flush: BegunFlush, ms: number) => void,
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
      await before
      unfinished = placed
      finishing = flush.finish().then(() => {
        unfinished = []
        onStored(placed, flush, performance.now() - began)
      })
      // Whoever waits for it next sees the failure.
      finishing.catch(() => undefined)
      if (!flush.isFolded) await finishing
    } catch (error) {
      await before.catch(() => undefined)
      await again(error)
    }
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
      await flush.finish()
    })
    unfinished = []
    if (flush) onStored(placed, flush, performance.now() - began)
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
