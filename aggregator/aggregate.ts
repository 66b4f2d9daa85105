/** The aggregator of one network: reads the log, keeps the ledger, and writes what belongs on the chain. */
import type { ClickHouseClient } from '@clickhouse/client'
import { withLivePriority } from '../ingest/lib/live-priority.ts'
import { type BlockRef, type Message, ticksIn, tipOf } from '../ingest/model/message.ts'
import type { Entry } from '../ingest/model/tick-log.ts'
import { OpenCandles } from './candles/open-candles.ts'
import { readHorizon } from './candles/retention.ts'
import { acquireEpoch } from './candles/writer-epoch.ts'
import { readStoredOverwrites } from './history/coverage.ts'
import { overwriteRanges, type SharedWriter } from './history/range-overwrites.ts'
import { finishJob, type Job } from './jobs/job.ts'
import {
  type Checkpointer,
  checkpointEverything,
  createCheckpointer,
  readCheckpoint,
  readCompleteVersion,
} from './ledger/checkpoint.ts'
import type { AggregatorFact } from './ledger/fact.ts'
import { Ledger } from './ledger/ledger.ts'
import { recover } from './ledger/recover.ts'
import { positionAfterStored } from './ledger/resume.ts'
import { rollBack } from './ledger/rollback.ts'
import { newestTick } from './ledger/stored-blocks.ts'
import { untilStored } from './ledger/until-stored.ts'
import { runRebuildWorker } from './maintenance/rebuild-worker.ts'
import { rewind } from './maintenance/rewind.ts'
import { PriorityQueue } from './store/priority-queue.ts'
import { type LogPosition, tombstoneVersion, type Version } from './store/version.ts'
import type { AggregateOptions } from './write/aggregate-options.ts'
import { firstTime, flushedFact, type PlacedMessage } from './write/flush.ts'
import { createFlushPipeline } from './write/flush-pipeline.ts'
import { rejectIfInvalid } from './write/reject-invalid.ts'
import { markDisturbed, type WriterState } from './write/writer-state.ts'

/** So many ticks go out in one flush at the most: large inserts are cheap, and memory stays bounded. */
const MAX_TICKS_PER_FLUSH = 50_000

/**
 * Runs until the signal aborts. Charge is taken with the first batch, which may be empty: until the log is ours to read,
 * another aggregator may be writing.
 */
export async function aggregate(client: ClickHouseClient, options: AggregateOptions): Promise<void> {
  const { log, position, shards = [client], signal } = options
  const writeQueue = new PriorityQueue()
  // A restatement takes many writeQueue: a rewind comes before or after all of them.
  const rangeQueue = new PriorityQueue()
  // Neither log is read on its own: whatever ends one ends the other.
  const ended = new AbortController()
  const stop = AbortSignal.any([signal, ended.signal])
  let writer: Writer | undefined
  let besides: Promise<unknown> | undefined
  try {
    for await (const entries of log.read(position.offset, stop)) {
      if (!writer) {
        writer = await startWriter(client, options)
        const { state, tip, checkpointer, rewindBy } = writer
        besides = Promise.all([
          overwriteRanges(client, options, writer, { writeQueue, rangeQueue }, stop).finally(() => ended.abort()),
          runRebuildWorker(client, {
            ...options,
            shards,
            state,
            tip,
            checkpointer,
            rewindBy,
            writeQueue,
            rangeQueue,
            signal: stop,
          }),
        ])
        besides.catch(() => undefined)
      }
      const { take, store } = writer
      const takeAll = async () => {
        for (const entry of entries) await take(entry)
        await store()
      }
      await withLivePriority(() => writeQueue.high(takeAll))
    }
  } finally {
    ended.abort()
    try {
      await besides
    } finally {
      await writer?.checkpointer?.close()
    }
  }
}

type Writer = SharedWriter & {
  checkpointer: Checkpointer | undefined
  /** Puts a message where it belongs; it is stored at the latest when `store` resolves. */
  take(entry: Entry): Promise<void>
  store(): Promise<void>
  /** Takes back the blocks of a job, whatever they are, and all messages of the log so far. */
  rewindBy(job: Job): Promise<void>
}

async function startWriter(client: ClickHouseClient, options: AggregateOptions): Promise<Writer> {
  const { network, log, position, shards = [client], disk, report, onWritten, signal } = options
  const persist = <T>(task: () => Promise<T>) => untilStored(options, task)
  const versions = await persist(() => acquireEpoch(client, network))
  // In one process the lock on the data folder has seen to it.
  await log.confirm?.()
  const recomputeContext = { versions, horizon: await persist(() => readHorizon(client)) }
  const overwrites = await persist(() => readStoredOverwrites(client, network))
  const ledger = await persist(() => Ledger.load(client, network))
  const checkpoint = await persist(() => readCheckpoint(client, network))
  const completeVersion = await persist(() => readCompleteVersion(client, network))
  await persist(() =>
    recover(client, { network, position, tip: ledger.tip, checkpoint, completeVersion, recomputeContext }),
  )
  const standing = { number: ledger.tip?.number ?? -1, version: versions.next() }
  const checkpointer = disk && createCheckpointer(client, network, disk, standing, report)
  if (checkpointer) await persist(checkpointer.save)
  else await persist(() => checkpointEverything(client, network, versions))
  const since = await persist(() => newestTick(client, network, ledger.tip))
  const state: WriterState = { ...recomputeContext, open: new OpenCandles(since), history: undefined }
  const { generation, offset } = position
  report({ kind: 'aggregator-started', network, tip: ledger.tip, epoch: versions.epoch, generation, offset })
  let isStalled = false
  let pending: PlacedMessage[] = []
  let pendingTicks = 0
  /** Messages before it are of a branch that was taken back. */
  let oldest = 0
  const flushes = createFlushPipeline(client, network, state, persist, {
    onStored: (flush) => onWritten?.({ network, flushed: { ...flush, isRecorded: false } }),
    onRecorded(flush, placed, ms) {
      report(flushedFact(network, placed, ms))
      checkpointer?.advance({ number: flush.tip.number, version: flush.sequence })
      onWritten?.({ network, flushed: { ...flush, isRecorded: true } })
    },
  })

  async function begin(): Promise<void> {
    if (pending.length === 0) return
    const placed = pending
    pending = []
    pendingTicks = 0
    markDisturbed(state, firstTime(placed))
    await flushes.begin(placed)
  }

  async function store(): Promise<void> {
    await begin()
    await flushes.done()
  }

  async function undo(to: BlockRef & { timestamp: number }, version: Version): Promise<void> {
    await store()
    markDisturbed(state, to.timestamp)
    const tip = ledger.tip ?? to
    await persist(async () => checkpointer?.lowerTo({ number: to.number, version: versions.next() }))
    const pools = await persist(() => rollBack(client, { network, to, version, recomputeContext }))
    state.open.invalidate(pools, tip.timestamp)
    ledger.rollBack(to)
    onWritten?.({ network })
    report({ kind: 'rolled-back', network, to: to.number, depth: tip.number - to.number, pools: pools.length })
  }

  return {
    state,
    overwrites,
    checkpointer,
    tip: () => ledger.tip?.timestamp ?? 0,
    retimed: (blocks) => ledger.retime(blocks),
    async confirmCandles() {
      if (checkpointer) checkpointer.advance({ number: ledger.tip?.number ?? -1, version: versions.next() })
      else await checkpointEverything(client, network, versions)
    },
    store,
    async rewindBy(job) {
      const began = performance.now()
      await store()
      const first = job.from
      const to = await persist(() => ledger.at(first - 1))
      if (!to) throw new Error(`Block ${first - 1} is not on the ledger of ${network}.`)
      const tip = ledger.tip ?? to
      oldest = await persist(async () =>
        endOfLog(position, await positionAfterStored(client, network), await log.end?.()),
      )
      const version = tombstoneVersion({ generation, offset: oldest })
      await persist(async () => checkpointer?.lowerTo({ number: to.number, version: versions.next() }))
      const pools = await persist(() => rewind(client, { network, to, version, recomputeContext, shards, signal }))
      state.open.invalidateAll(tip.timestamp)
      state.history = undefined
      ledger.rollBack(to)
      overwrites.rewound({ job: job.id, first })
      isStalled = false
      await persist(async () => checkpointer?.save())
      // Cut off before this, it is done again from its beginning.
      await persist(() => finishJob(client, job))
      onWritten?.({ network })
      const depth = tip.number - to.number
      const ms = performance.now() - began
      report({ kind: 'rewound', network, job: job.id, to: to.number, depth, pools: pools.length, ms })
    },
    async take(entry) {
      if (entry.offset < oldest) return
      if (await rejectIfInvalid(options, log, entry)) return
      const { offset: at } = entry
      const placement = await persist(() => ledger.place(entry.message))
      if (placement.kind === 'known') return
      const { number } = tipOf(entry.message)
      if (placement.kind === 'orphan') {
        // Not lost: the listener sends again from the stored tip when that stands still.
        if (!isStalled) report({ kind: 'stalled', network, number, tip: ledger.tip?.number ?? -1 })
        isStalled = true
        return
      }
      if (isStalled) report({ kind: 'connected', network, number })
      isStalled = false
      const place = { generation, offset: at }
      if (placement.kind === 'rollback') await undo(placement.to, tombstoneVersion(place))
      const { message } = placement
      if (!ledger.tip && message.parentHash !== undefined) report(beginsLate(message))
      ledger.append(message)
      pending.push({ message, position: place })
      pendingTicks += ticksIn(message)
      if (pendingTicks >= MAX_TICKS_PER_FLUSH) await begin()
    },
  }
}

/** Above every message that is stored or may be in the log, and not above any that comes. */
function endOfLog({ generation, offset }: LogPosition, afterStored: LogPosition, end = 0): number {
  return Math.max(offset, end, afterStored.generation === generation ? afterStored.offset : 0)
}

/** A stream begins with a message that has no parent: the messages before this one are no longer in the log, and not in the tables. */
function beginsLate(message: Message): AggregatorFact {
  const { network } = message
  const first = message.kind === 'range' ? message.from : message.number
  const command = `npm run backfill -- --network ${network} --from-block BLOCK --to-block ${first - 1}`
  return { kind: 'begins-late', network, first, command }
}
