/** The aggregator of one network: reads the log, keeps the ledger, and writes what belongs on the chain. */
import type { ClickHouseClient } from '@clickhouse/client'
import { hurried } from '../ingest/lib/live-priority.ts'
import { type BlockRef, type Message, ticksIn, tipOf } from '../ingest/model/message.ts'
import type { Entry } from '../ingest/model/tick-log.ts'
import { OpenBuckets } from './candles/open-candles.ts'
import { readHorizon } from './candles/retention.ts'
import { takeCharge } from './candles/writer-epoch.ts'
import { readRestated } from './history/coverage.ts'
import { type Lent, restateAll } from './history/range-overwrites.ts'
import { finishJob, type Job } from './jobs/job.ts'
import { readSettled, readVouched, type Settling, settleForGood, settlingOf } from './ledger/checkpoint.ts'
import type { AggregatorFact } from './ledger/fact.ts'
import { Ledger } from './ledger/ledger.ts'
import { clearAway } from './ledger/recover.ts'
import { positionAfterStored } from './ledger/resume.ts'
import { rollBack } from './ledger/rollback.ts'
import { newestTick } from './ledger/stored-blocks.ts'
import { untilStored } from './ledger/until-stored.ts'
import { keepUp } from './maintenance/rebuild-worker.ts'
import { rewind } from './maintenance/rewind.ts'
import { Turns } from './store/priority-queue.ts'
import { type Position, tombstoneVersion, type Version } from './store/version.ts'
import type { AggregateOptions } from './write/aggregate-options.ts'
import { firstTime, flushed, type Placed } from './write/flush.ts'
import { flushesOf } from './write/flush-pipeline.ts'
import { isRejected } from './write/rejected.ts'
import { disturbHistory, type Keeping } from './write/writer-state.ts'

/** So many ticks go out in one flush at the most: large inserts are cheap, and memory stays bounded. */
const TICKS_PER_FLUSH = 50_000

/**
 * Runs until the signal aborts. Charge is taken with the first batch, which may be empty: until the log is ours to read,
 * another aggregator may be writing.
 */
export async function aggregate(client: ClickHouseClient, options: AggregateOptions): Promise<void> {
  const { log, position, shards = [client], signal } = options
  const turns = new Turns()
  // A restatement takes many turns: a rewind comes before or after all of them.
  const runs = new Turns()
  // Neither log is read on its own: whatever ends one ends the other.
  const ended = new AbortController()
  const stop = AbortSignal.any([signal, ended.signal])
  let writer: Writer | undefined
  let besides: Promise<unknown> | undefined
  try {
    for await (const entries of log.read(position.offset, stop)) {
      if (!writer) {
        writer = await startWriter(client, options)
        const { keeping, tip, settling, rewindBy } = writer
        besides = Promise.all([
          restateAll(client, options, writer, { turns, runs }, stop).finally(() => ended.abort()),
          keepUp(client, { ...options, shards, keeping, tip, settling, rewindBy, turns, runs, signal: stop }),
        ])
        besides.catch(() => undefined)
      }
      const { take, store } = writer
      const takeAll = async () => {
        for (const entry of entries) await take(entry)
        await store()
      }
      await hurried(() => turns.urgent(takeAll))
    }
  } finally {
    ended.abort()
    try {
      await besides
    } finally {
      await writer?.settling?.end()
    }
  }
}

type Writer = Lent & {
  settling: Settling | undefined
  /** Puts a message where it belongs; it is stored at the latest when `store` resolves. */
  take(entry: Entry): Promise<void>
  store(): Promise<void>
  /** Takes back the blocks of a job, whatever they are, and all messages of the log so far. */
  rewindBy(job: Job): Promise<void>
}

async function startWriter(client: ClickHouseClient, options: AggregateOptions): Promise<Writer> {
  const { network, log, position, shards = [client], disk, report, onWritten, signal } = options
  const persist = <T>(task: () => Promise<T>) => untilStored(options, task)
  const versions = await persist(() => takeCharge(client, network))
  // In one process the lock on the data folder has seen to it.
  await log.confirm?.()
  const remaking = { versions, horizon: await persist(() => readHorizon(client)) }
  const restated = await persist(() => readRestated(client, network))
  const ledger = await persist(() => Ledger.load(client, network))
  const settled = await persist(() => readSettled(client, network))
  const vouched = await persist(() => readVouched(client, network))
  await persist(() => clearAway(client, { network, position, tip: ledger.tip, settled, vouched, remaking }))
  const standing = { number: ledger.tip?.number ?? -1, version: versions.next() }
  const settling = disk && settlingOf(client, network, disk, standing, report)
  if (settling) await persist(settling.settle)
  else await persist(() => settleForGood(client, network, versions))
  const since = await persist(() => newestTick(client, network, ledger.tip))
  const keeping: Keeping = { ...remaking, open: new OpenBuckets(since), history: undefined }
  const { generation, offset } = position
  report({ kind: 'aggregator-started', network, tip: ledger.tip, epoch: versions.epoch, generation, offset })
  let isStalled = false
  let pending: Placed[] = []
  let pendingTicks = 0
  /** Messages before it are of a branch that was taken back. */
  let oldest = 0
  const flushes = flushesOf(client, network, keeping, persist, {
    onStored: (flush) => onWritten?.({ network, flushed: { ...flush, isRecorded: false } }),
    onRecorded(flush, placed, ms) {
      report(flushed(network, placed, ms))
      settling?.reached({ number: flush.tip.number, version: flush.sequence })
      onWritten?.({ network, flushed: { ...flush, isRecorded: true } })
    },
  })

  async function begin(): Promise<void> {
    if (pending.length === 0) return
    const placed = pending
    pending = []
    pendingTicks = 0
    disturbHistory(keeping, firstTime(placed))
    await flushes.begin(placed)
  }

  async function store(): Promise<void> {
    await begin()
    await flushes.done()
  }

  async function undo(to: BlockRef & { timestamp: number }, version: Version): Promise<void> {
    await store()
    disturbHistory(keeping, to.timestamp)
    const tip = ledger.tip ?? to
    await persist(async () => settling?.lowerTo({ number: to.number, version: versions.next() }))
    const pools = await persist(() => rollBack(client, { network, to, version, remaking }))
    keeping.open.forget(pools, tip.timestamp)
    ledger.rollBack(to)
    onWritten?.({ network })
    report({ kind: 'rolled-back', network, to: to.number, depth: tip.number - to.number, pools: pools.length })
  }

  return {
    keeping,
    restated,
    settling,
    tip: () => ledger.tip?.timestamp ?? 0,
    retimed: (blocks) => ledger.retime(blocks),
    async vouch() {
      if (settling) settling.reached({ number: ledger.tip?.number ?? -1, version: versions.next() })
      else await settleForGood(client, network, versions)
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
      await persist(async () => settling?.lowerTo({ number: to.number, version: versions.next() }))
      const pools = await persist(() => rewind(client, { network, to, version, remaking, shards, signal }))
      keeping.open.forgetAll(tip.timestamp)
      keeping.history = undefined
      ledger.rollBack(to)
      restated.rewound({ job: job.id, first })
      isStalled = false
      await persist(async () => settling?.settle())
      // Cut off before this, it is done again from its beginning.
      await persist(() => finishJob(client, job))
      onWritten?.({ network })
      const depth = tip.number - to.number
      const ms = performance.now() - began
      report({ kind: 'rewound', network, job: job.id, to: to.number, depth, pools: pools.length, ms })
    },
    async take(entry) {
      if (entry.offset < oldest) return
      if (await isRejected(options, log, entry)) return
      const { offset: at } = entry
      const placement = await persist(() => ledger.place(entry.message))
      if (placement.kind === 'known') return
      const { number } = tipOf(entry.message)
      if (placement.kind === 'unconnected') {
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
      if (pendingTicks >= TICKS_PER_FLUSH) await begin()
    },
  }
}

/** Above every message that is stored or may be in the log, and not above any that comes. */
function endOfLog({ generation, offset }: Position, afterStored: Position, end = 0): number {
  return Math.max(offset, end, afterStored.generation === generation ? afterStored.offset : 0)
}

/** A stream begins with a message that has no parent: the messages before this one are no longer in the log, and not in the tables. */
function beginsLate(message: Message): AggregatorFact {
  const { network } = message
  const first = message.kind === 'range' ? message.from : message.number
  const command = `npm run backfill -- --network ${network} --from-block BLOCK --to-block ${first - 1}`
  return { kind: 'begins-late', network, first, command }
}
