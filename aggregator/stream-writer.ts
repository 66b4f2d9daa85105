/**
 * The stream's writer. Each message of the log takes these steps, in this order:
 *
 *   Entry → validate       messages that tables cannot hold, aside                            write/reject-invalid.ts
 *         → place          append, roll back first, or skip: known, or an orphan              ledger/ledger.ts
 *         → PlacedMessage  waits until `MAX_TICKS_PER_FLUSH` or `store`
 *         → flush          fold, encode, insert, record                                       write/flush.ts
 */

import type { ClickHouseClient } from '@clickhouse/client'
import { asTyped } from '../ingest/lib/as-typed.ts'
import { type BlockContent, type BlockRef, type Message, ticksIn, tipOf } from '../ingest/model/message.ts'
import type { Pool } from '../ingest/model/pool.ts'
import type { Entry, Offset } from '../ingest/model/tick-log.ts'
import type { AggregatorFact } from './ledger/fact.ts'
import { knownSightings } from './ledger/ledger.ts'
import { sightingsIn } from './ledger/observer.ts'
import { RecentMessages } from './ledger/recent-messages.ts'
import { rollBack } from './ledger/rollback.ts'
import { newestBlock } from './ledger/stored-blocks.ts'
import { untilStored } from './ledger/until-stored.ts'
import { storedPools } from './store/stored-pools.ts'
import { tombstoneVersion, type Version } from './store/version.ts'
import type { AggregateOptions } from './write/aggregate-options.ts'
import { firstBlock, firstTime, flushedFact, MAX_TICKS_PER_FLUSH } from './write/flush.ts'
import { createFlushPipeline, type FlushPipeline } from './write/flush-pipeline.ts'
import { insertPools } from './write/insert-blocks.ts'
import { reject, rejectIfInvalid } from './write/reject-invalid.ts'
import type { PlacedMessage } from './write/rows.ts'
import { markDisturbed, type OpenNetwork } from './write/writer-state.ts'

export type StreamWriter = {
  /** The message is stored at the latest when `store` resolves. */
  take(entry: Entry): Promise<void>
  store(): Promise<void>
  /** Skips every message before `offset`: they are of a branch that was taken back. */
  skipBefore(offset: Offset): void
  /** A rewind removed the blocks up to `tip`: messages that continue them are of a listener that has not resumed yet, and no stall. */
  rewound(tip: BlockRef): void
}

export function createStreamWriter(
  client: ClickHouseClient,
  options: AggregateOptions,
  opened: OpenNetwork,
): StreamWriter {
  const { log, position, report } = options
  const { state, ledger } = opened
  const persist = <T>(task: () => Promise<T>) => untilStored(options, task)
  const batch = openBatch(openPipeline(client, options, opened), state)
  const { store } = batch
  let firstOffset: Offset = 0
  const stall = stallReporter(options, opened)
  const recent = new RecentMessages()

  async function take(entry: Entry): Promise<void> {
    if (entry.offset < firstOffset) return void stall.continuesRewound(entry.message)
    if (await rejectIfInvalid(options, log, entry)) return
    for (const message of await persist(() => recent.upTo(entry.message, ledger))) await append({ ...entry, message })
  }

  async function append(entry: Entry): Promise<void> {
    const appended = await place(entry)
    if (!appended) return
    const placed = { ...appended, parent: ledger.tip }
    if (!ledger.tip && placed.message.parentHash !== undefined) report(beginsLate(placed.message))
    ledger.append(placed.message)
    await batch.add(placed)
  }

  /** The part of the message that extends the tip; undefined where nothing does. A fork is rolled back first. */
  async function place(entry: Entry): Promise<Omit<PlacedMessage, 'parent'> | undefined> {
    const placement = await persist(() => ledger.place(entry.message))
    if (placement.kind === 'refused') await reject(options, log, entry.offset, placement.reason)
    const named = knownSightings(entry.message, placement)
    if (named.length > 0) {
      await store()
      await persist(() => insertKnownPools(client, options, opened, named))
    }
    if (placement.kind === 'known' || placement.kind === 'refused') return undefined
    stall.report(entry.message, placement.kind === 'orphan')
    if (placement.kind === 'orphan') return undefined
    const place = { generation: position.generation, offset: entry.offset }
    if (placement.kind === 'rollback') {
      await store()
      await undoBranch(client, options, opened, placement.to, tombstoneVersion(place))
    }
    return { message: placement.message, position: place }
  }

  return {
    take,
    store,
    skipBefore(offset) {
      firstOffset = offset
    },
    rewound(tip) {
      recent.clear()
      stall.rewound(tip)
    },
  }
}

/** Messages that wait for a flush. */
function openBatch(flushes: FlushPipeline, state: OpenNetwork['state']) {
  let pending: PlacedMessage[] = []
  let pendingTicks = 0

  async function flush(): Promise<void> {
    if (pending.length === 0) return
    const placed = pending
    pending = []
    pendingTicks = 0
    markDisturbed(state, firstTime(placed))
    state.flushedAt = performance.now()
    await flushes.begin(placed)
  }

  return {
    async add(placed: PlacedMessage): Promise<void> {
      pending.push(placed)
      pendingTicks += ticksIn(placed.message)
      if (pendingTicks >= MAX_TICKS_PER_FLUSH) await flush()
    },
    async store(): Promise<void> {
      await flush()
      await flushes.done()
    },
  }
}

/**
 * Stores pools that blocks already on the ledger name. Each listener names a pool once, in the first block in which it sees it, and the ledger
 * may have that block from another listener. A pool with a different stored description is left out: a pool never changes. The rows get the
 * version of the tip, so that a later rollback below them removes them and an earlier one does not.
 */
async function insertKnownPools(
  client: ClickHouseClient,
  { network }: AggregateOptions,
  { observer }: OpenNetwork,
  blocks: readonly BlockContent[],
): Promise<void> {
  const named = sightingsIn(blocks)
  const stored = await storedPools(client, network)(named.map(({ pool }) => pool.id))
  const known = new Map(stored.map((pool) => [pool.id, descriptionOf(pool)]))
  const isLikeStored = (pool: Pool) => (known.get(pool.id) ?? descriptionOf(pool)) === descriptionOf(pool)
  const { version = 0n } = (await newestBlock(client, network)) ?? {}
  const versioned = blocks.map((block) => {
    return { network, block: { ...block, pools: block.pools.filter(isLikeStored) }, version }
  })
  const insert = () => insertPools(client, versioned)
  const late = named.filter(({ pool }) => !known.has(pool.id))
  await (late.length > 0 ? observer.aroundLatePools(late, insert) : insert())
}

function descriptionOf({ protocol, fee, token0, token1 }: Pool): string {
  const tokens = [token0, token1].map(({ address, symbol, name, decimals }) => [address, symbol, name, decimals])
  return JSON.stringify([protocol, fee, tokens])
}

/** Reports the first orphan, and the first message after it that connects. The listener sends from the stored tip again once that has not moved for a minute. */
function stallReporter({ network, report }: AggregateOptions, { ledger }: OpenNetwork) {
  let isStalled = false
  let rewound: BlockRef | undefined
  function continuesRewound(message: Message): boolean {
    if (!rewound || message.parentHash !== rewound.hash) return false
    rewound = tipOf(message)
    return true
  }
  return {
    continuesRewound,
    report(message: Message, isOrphan: boolean): void {
      if (isOrphan && continuesRewound(message)) return
      const { number } = tipOf(message)
      if (isOrphan && !isStalled) report({ kind: 'stalled', network, number, tip: ledger.tip?.number ?? -1 })
      if (!isOrphan && isStalled) report({ kind: 'connected', network, number })
      isStalled = isOrphan
    },
    rewound(tip: BlockRef): void {
      isStalled = false
      rewound = tip
    },
  }
}

function openPipeline(
  client: ClickHouseClient,
  options: AggregateOptions,
  { state, observer }: OpenNetwork,
): FlushPipeline {
  const { network, report } = options
  return createFlushPipeline(client, network, state, (task) => untilStored(options, task), {
    onStored: observer.stored,
    onRecorded({ placed, content: { blocks }, event }, ms) {
      report(flushedFact(network, placed, ms))
      observer.recorded({ first: firstBlock(placed), blocks, event })
    },
  })
}

/** Takes back every block above `to`. Call it while no flush is under way. */
async function undoBranch(
  client: ClickHouseClient,
  options: AggregateOptions,
  { state, ledger, observer }: OpenNetwork,
  to: BlockRef & { timestamp: number },
  version: Version,
): Promise<void> {
  const { network, report } = options
  const persist = <T>(task: () => Promise<T>) => untilStored(options, task)
  markDisturbed(state, to.timestamp)
  const tip = ledger.tip ?? to
  await persist(() => observer.retract(to, version))
  const pools = await persist(() => rollBack(client, { network, to, version, recomputeContext: state, observer }))
  state.open.invalidate(pools, tip.timestamp)
  ledger.rollBack(to)
  observer.written()
  report({ kind: 'rolled-back', network, to: to.number, depth: tip.number - to.number, pools: pools.length })
}

/** A stream begins with a message that has no parent: the log has lost the messages before this one, and the tables do not hold them. */
function beginsLate(message: Message): AggregatorFact {
  const { network } = message
  const first = message.kind === 'range' ? message.from : message.number
  const command = asTyped(`npm run backfill -- --network ${network} --from-block BLOCK --to-block ${first - 1}`)
  return { kind: 'begins-late', network, first, command }
}
