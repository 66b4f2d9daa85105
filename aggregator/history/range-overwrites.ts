/** Restatements in the order of their log, beside the stream. */
import type { ClickHouseClient } from '@clickhouse/client'
import { type RangeOverwrite, ticksIn, type UnixSeconds } from '../../ingest/model/message.ts'
import type { LedgerBlock } from '../ledger/ledger.ts'
import { untilStored } from '../ledger/until-stored.ts'
import type { Enqueue, PriorityQueue } from '../store/priority-queue.ts'
import type { AggregateOptions } from '../write/aggregate-options.ts'
import { rejectIfInvalid } from '../write/reject-invalid.ts'
import type { WriterState } from '../write/writer-state.ts'
import type { StoredOverwrites } from './coverage.ts'
import { type OverwriteRun, overwriteRange, runsOf } from './overwrite-range.ts'

/** So many ticks are stated as one run at the most. */
const MAX_TICKS_PER_OVERWRITE = 20_000

/** What the stream's writer lends. */
export type SharedWriter = {
  state: WriterState
  overwrites: StoredOverwrites
  /** The time of the newest stored block. */
  tip(): UnixSeconds
  /** A job has stated another time of these blocks than the ledger has. */
  retimed(blocks: readonly LedgerBlock[]): void
  /** Notes that all candles have their ticks; to be called while nothing is on its way. */
  confirmCandles(): Promise<void>
}

/** Restates what jobs have read, run by run, in writeQueue between the flushes of the stream. */
export async function overwriteRanges(
  client: ClickHouseClient,
  options: AggregateOptions,
  { state, tip, overwrites, retimed, confirmCandles: vouch }: SharedWriter,
  { writeQueue, rangeQueue }: { writeQueue: PriorityQueue; rangeQueue: PriorityQueue },
  signal: AbortSignal,
): Promise<void> {
  const { history, network, disk, report, onWritten } = options
  const enqueue: Enqueue = (task) => writeQueue.low(task)
  async function overwriteRun(run: OverwriteRun): Promise<void> {
    const began = performance.now()
    await untilStored(options, () => overwriteRange(client, run, { state, tip, enqueue, onRetimed: retimed, disk }))
    await enqueue(async () => {
      await untilStored(options, vouch)
      onWritten?.({ network })
      const ms = performance.now() - began
      for (const message of run) {
        const { job, from, to } = message
        overwrites.add(message)
        report({ kind: 'restated', network, job, from, to, ticks: ticksIn(message), ms: ms / run.length })
      }
    })
  }
  // Without jobs there is nothing to do until the stream ends.
  if (!history) return untilAborted(signal)
  for await (const entries of history.read(0, signal)) {
    const unstored: RangeOverwrite[] = []
    for (const entry of entries) {
      if (await rejectIfInvalid(options, history, entry)) continue
      const { message } = entry
      // A log that keeps its messages shows them again at every start.
      if (!overwrites.has(message)) unstored.push(message)
    }
    for (const run of runsOf(unstored, MAX_TICKS_PER_OVERWRITE)) {
      await rangeQueue.low(async () => {
        // A rewind may have overtaken some of it since it was read.
        const valid = run.filter((message) => !overwrites.has(message))
        for (const rest of runsOf(valid, MAX_TICKS_PER_OVERWRITE)) await overwriteRun(rest)
      })
    }
  }
}

/** An aborted signal tells no listener that is added later. */
async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
