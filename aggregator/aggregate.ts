/** The aggregator of one network: reads the log, keeps the ledger, and writes what belongs on the chain. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Entry, TickLog } from '../ingest/log.ts'
import { blocksOf, tipOf } from '../ingest/message.ts'
import type { NetworkName } from '../ingest/network.ts'
import type { Report } from '../ingest/report.ts'
import { pause } from '../ingest/wait.ts'
import type { AggregatorFact } from './fact.ts'
import { flush, type Placed } from './flush.ts'
import { Ledger } from './ledger.ts'
import { type CandleVersions, takeCharge } from './owner.ts'
import { rollBack } from './rollback.ts'
import { type Position, tombstoneVersion } from './version.ts'

export type AggregateOptions = {
  network: NetworkName
  log: TickLog
  /** Where to go on reading; `positionInLog` or `positionAfterStored` tells. */
  position: Position
  report: Report<AggregatorFact>
  signal: AbortSignal
}

/** So many ticks go out in one flush at the most: large inserts are cheap, and memory stays bounded. */
const TICKS_PER_FLUSH = 20_000
const FIRST_RETRY_MS = 250
const MAX_RETRY_MS = 10_000

/** Runs until the signal aborts. */
export async function aggregate(client: ClickHouseClient, options: AggregateOptions): Promise<void> {
  const { network, log, position, report, signal } = options
  const versions = await untilStored(options, () => takeCharge(client, network))
  const ledger = await untilStored(options, () => Ledger.load(client, network))
  await untilStored(options, () => clearAway(client, options, ledger, versions))
  report({
    kind: 'aggregator-started',
    network,
    tip: ledger.tip,
    epoch: versions.epoch,
    generation: position.generation,
    offset: position.offset,
  })
  let isStalled = false
  let pending: Placed[] = []
  let pendingTicks = 0

  async function store(): Promise<void> {
    if (pending.length === 0) return
    const placed = pending
    const began = performance.now()
    await untilStored(options, () => flush(client, network, placed, versions))
    report(flushed(network, placed, pendingTicks, performance.now() - began))
    pending = []
    pendingTicks = 0
  }

  async function take({ message, offset }: Entry): Promise<void> {
    const placement = await untilStored(options, () => ledger.place(message))
    const at = { generation: position.generation, offset }
    if (placement.kind === 'known') return
    if (placement.kind === 'unconnected') {
      if (!isStalled) report({ kind: 'stalled', network, number: tipOf(message).number, tip: ledger.tip?.number ?? -1 })
      isStalled = true
      return
    }
    if (isStalled) report({ kind: 'connected', network, number: tipOf(message).number })
    isStalled = false
    if (placement.kind === 'rollback') {
      await store()
      const { to } = placement
      const depth = (ledger.tip?.number ?? to.number) - to.number
      const undo = { network, to, version: tombstoneVersion(at), versions }
      const pools = await untilStored(options, () => rollBack(client, undo))
      ledger.rollBack(to)
      report({ kind: 'rolled-back', network, to: to.number, depth, pools })
    }
    ledger.append(message)
    pending.push({ message, position: at })
    pendingTicks += blocksOf(message).reduce((sum, block) => sum + block.ticks.length, 0)
    if (pendingTicks >= TICKS_PER_FLUSH) await store()
  }

  for await (const entries of log.read(position.offset, signal)) {
    for (const entry of entries) await take(entry)
    await store()
  }
}

/** Buries what stands above the ledger's tip and will not be written again: the remains of a flush or rollback that was cut off. */
async function clearAway(
  client: ClickHouseClient,
  { network, position }: AggregateOptions,
  ledger: Ledger,
  versions: CandleVersions,
): Promise<void> {
  const to = ledger.tip ?? { number: -1, timestamp: 0 }
  await rollBack(client, { network, to, version: tombstoneVersion(position), versions })
}

/** Tries until the tables answer: nothing that was read is given up. Throws only when the signal aborts. */
async function untilStored<T>({ network, report, signal }: AggregateOptions, task: () => Promise<T>): Promise<T> {
  for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(MAX_RETRY_MS, retryMs * 2)) {
    try {
      return await task()
    } catch (error) {
      if (signal.aborted) throw error
      report({ kind: 'store-failed', network, error, retryMs })
      await pause(retryMs, signal)
    }
  }
}

function flushed(network: NetworkName, placed: readonly Placed[], ticks: number, ms: number): AggregatorFact {
  const first = placed[0]?.message
  const last = placed.at(-1)?.message
  return {
    kind: 'flushed',
    network,
    from: first ? (first.kind === 'range' ? first.from : first.number) : 0,
    to: last ? tipOf(last).number : 0,
    blocks: placed.length,
    ticks,
    tipTimestamp: last?.timestamp ?? 0,
    ms,
  }
}
