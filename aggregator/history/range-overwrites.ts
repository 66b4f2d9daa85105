/** Restatements in the order of their log, beside the stream. */
import type { ClickHouseClient } from '@clickhouse/client'
import { type Restatement, ticksIn, type UnixSeconds } from '../../ingest/model/message.ts'
import type { LedgerBlock } from '../ledger/ledger.ts'
import { untilStored } from '../ledger/until-stored.ts'
import type { InTurn, Turns } from '../store/priority-queue.ts'
import type { AggregateOptions } from '../write/aggregate-options.ts'
import { isRejected } from '../write/rejected.ts'
import type { Keeping } from '../write/writer-state.ts'
import type { Restated } from './coverage.ts'
import { type Run, restate, runsOf } from './overwrite-range.ts'

/** So many ticks are stated as one run at the most. */
const TICKS_PER_RESTATEMENT = 20_000

/** What the stream's writer lends. */
export type Lent = {
  keeping: Keeping
  restated: Restated
  /** The time of the newest stored block. */
  tip(): UnixSeconds
  /** A job has stated another time of these blocks than the ledger has. */
  retimed(blocks: readonly LedgerBlock[]): void
  /** Notes that all candles have their ticks; to be called while nothing is on its way. */
  vouch(): Promise<void>
}

/** Restates what jobs have read, run by run, in turns between the flushes of the stream. */
export async function restateAll(
  client: ClickHouseClient,
  options: AggregateOptions,
  { keeping, tip, restated, retimed, vouch }: Lent,
  { turns, runs }: { turns: Turns; runs: Turns },
  signal: AbortSignal,
): Promise<void> {
  const { history, network, disk, report, onWritten } = options
  const inTurn: InTurn = (task) => turns.patient(task)
  async function stateRun(run: Run): Promise<void> {
    const began = performance.now()
    await untilStored(options, () => restate(client, run, { keeping, tip, inTurn, onRetimed: retimed, disk }))
    await inTurn(async () => {
      await untilStored(options, vouch)
      onWritten?.({ network })
      const ms = performance.now() - began
      for (const message of run) {
        const { job, from, to } = message
        restated.add(message)
        report({ kind: 'restated', network, job, from, to, ticks: ticksIn(message), ms: ms / run.length })
      }
    })
  }
  // Without jobs there is nothing to do until the stream ends.
  if (!history) return untilAborted(signal)
  for await (const entries of history.read(0, signal)) {
    const unstored: Restatement[] = []
    for (const entry of entries) {
      if (await isRejected(options, history, entry)) continue
      const { message } = entry
      // A log that keeps its messages shows them again at every start.
      if (!restated.has(message)) unstored.push(message)
    }
    for (const run of runsOf(unstored, TICKS_PER_RESTATEMENT)) {
      await runs.patient(async () => {
        // A rewind may have overtaken some of it since it was read.
        const valid = run.filter((message) => !restated.has(message))
        for (const rest of runsOf(valid, TICKS_PER_RESTATEMENT)) await stateRun(rest)
      })
    }
  }
}

/** An aborted signal tells no listener that is added later. */
async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
