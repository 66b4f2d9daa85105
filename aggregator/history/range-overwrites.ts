/** Range overwrites of jobs, in the order of their log, beside the stream. */
import type { ClickHouseClient } from '@clickhouse/client'
import { untilAborted } from '../../ingest/lib/wait.ts'
import { type RangeOverwrite, ticksIn } from '../../ingest/model/message.ts'
import { untilStored } from '../ledger/until-stored.ts'
import type { Enqueue, PriorityQueue } from '../store/priority-queue.ts'
import type { AggregateOptions } from '../write/aggregate-options.ts'
import { MAX_TICKS_PER_FLUSH } from '../write/flush.ts'
import { reject, rejectIfInvalid } from '../write/reject-invalid.ts'
import type { OpenNetwork } from '../write/writer-state.ts'
import { askedFor } from './asked-for.ts'
import type { StoredOverwrites } from './coverage.ts'
import { overwriteRange } from './overwrite-range.ts'
import { type OverwriteRun, runsOf } from './overwrite-run.ts'

/** Overwrites run by run, in tasks of low priority between the flushes of the stream. Returns when the signal aborts. */
export async function overwriteRanges(
  client: ClickHouseClient,
  options: AggregateOptions,
  { state, ledger, observer, overwrites }: OpenNetwork & { overwrites: StoredOverwrites },
  { writeQueue, rangeQueue }: { writeQueue: PriorityQueue; rangeQueue: PriorityQueue },
  signal: AbortSignal,
): Promise<void> {
  const { history, network, disk, report } = options
  const enqueue: Enqueue = (task) => writeQueue.low(task)
  async function overwriteRun(run: OverwriteRun): Promise<void> {
    const began = performance.now()
    await untilStored(options, () => overwriteRange(client, run, { state, ledger, observer, enqueue, disk }))
    await enqueue(async () => {
      await untilStored(options, observer.overwritten)
      observer.written()
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
  const problemOf = askedFor(client, network)
  for await (const entries of history.read(0, signal)) {
    const unstored: RangeOverwrite[] = []
    for (const entry of entries) {
      if (await rejectIfInvalid(options, history, entry)) continue
      const { message, offset } = entry
      // A log that keeps its messages shows them again at every start.
      if (overwrites.has(message)) continue
      // A range that a process hands over to itself is of one of its own jobs.
      const problem = history.reject && (await untilStored(options, () => problemOf(message)))
      if (problem === undefined) unstored.push(message)
      else await reject(options, history, offset, problem)
    }
    for (const run of runsOf(unstored, MAX_TICKS_PER_FLUSH)) {
      await rangeQueue.low(async () => {
        // A rewind may have overtaken some of it since it was read.
        const valid = run.filter((message) => !overwrites.has(message))
        for (const rest of runsOf(valid, MAX_TICKS_PER_FLUSH)) await overwriteRun(rest)
      })
    }
  }
}
