/** Flushes in a row: the next one begins while the one before is still on its way. They reach the ledger in their order. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import { type PlacedMessage, type StartedFlush, startFlush } from './flush.ts'
import type { WriterState } from './writer-state.ts'

export type FlushPipeline = {
  /** Resolves once the next one may begin. Everything placed is on the ledger once `done` resolves. */
  begin(placed: readonly PlacedMessage[]): Promise<void>
  done(): Promise<void>
}

export type FlushListener = {
  /** Its ticks and candles are in the tables, and those of all before it. Told again where what follows fails. */
  onStored(flush: StartedFlush): void
  /** It is on the ledger. */
  onRecorded(flush: StartedFlush, placed: readonly PlacedMessage[], ms: number): void
}

/** `persist` tries until the tables answer. */
export function createFlushPipeline(
  client: ClickHouseClient,
  network: NetworkName,
  state: WriterState,
  persist: (task: () => Promise<void>) => Promise<void>,
  { onStored, onRecorded }: FlushListener,
): FlushPipeline {
  /** What is not on the ledger yet, and how that ends. */
  let unfinished: readonly PlacedMessage[] = []
  let finishing: Promise<void> = Promise.resolve()

  async function begin(placed: readonly PlacedMessage[]): Promise<void> {
    const began = performance.now()
    const before = finishing
    unfinished = [...unfinished, ...placed]
    try {
      const flush = await startFlush(client, network, placed, state)
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

  async function finish(before: Promise<void>, placed: readonly PlacedMessage[], flush: StartedFlush, began: number) {
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
    let flush: StartedFlush | undefined
    await persist(async () => {
      if (failure) {
        const first = failure
        failure = undefined
        throw first
      }
      state.open.invalidateAll(Math.max(...placed.map(({ message }) => message.timestamp)))
      flush = await startFlush(client, network, placed, state)
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
