/** The difference between stored ticks and the ticks that will replace them. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { RangeOverwrite } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import type { Tick } from '../../../ingest/model/tick.ts'
import { FINAL_HISTORY, finalRowVersion, finalTombstoneVersion } from '../../store/version.ts'
import type { VersionedTick } from './publication.ts'
import { inChainOrder, readStoredTicks, readTicksOfJobs } from './stored-ticks.ts'

/** The complete content of some blocks for some pools, or for all where `pools` is empty. */
export type TickReplacement = {
  first: number
  last: number
  pools: readonly PoolId[]
  ticks: readonly VersionedTick[]
  /** Stored rows of later jobs stay. */
  job: number
}

/** The ranges of a run follow each other, and are of one job and the same pools. */
export function replacementBy(run: readonly RangeOverwrite[]): TickReplacement {
  const [first, last] = [run[0], run.at(-1)]
  if (!first || !last) throw new Error('A run has range overwrites.')
  const { job, pools = [] } = first
  const version = finalRowVersion(job)
  const blocks = run.flatMap((one) => one.blocks)
  const ticks = blocks.flatMap((block) => block.ticks.map((tick) => ({ block, tick, version })))
  return { first: first.from, last: last.to, pools, ticks, job }
}

export type TickDifference = { retracted: readonly VersionedTick[]; inserted: readonly VersionedTick[] }

/**
 * Both ascending by block and log index. Above the block `published`, ticks are inserted with the stream; there only rows of jobs are
 * retracted: they stay published where a power cut takes their blocks off the ledger.
 */
export async function readTickDifference(
  client: ClickHouseClient,
  network: NetworkName,
  change: TickReplacement,
  published: number,
): Promise<TickDifference> {
  const { first, last, job, pools } = change
  // Rows that a job replaces may be stored under any time.
  const range = { first, last }
  const [live, ofJobs] = await Promise.all([
    readStoredTicks(client, network, range, pools),
    readTicksOfJobs(client, network, { ...range, job }, pools),
  ])
  const taken = ofJobs.filter(({ version }) => version === finalTombstoneVersion(job))
  // Rows and tombstones of later jobs stay.
  const later = new Set(ofJobs.filter(({ version }) => version > finalRowVersion(job)).map(keyOf))
  // An earlier try has taken some rows back, and the stream may have been published after it.
  const stored = taken.length === 0 ? live : [...live, ...taken].sort(inChainOrder)
  const ticks = change.ticks.filter((tick) => !later.has(keyOf(tick)))
  const { retracted, inserted } = tickDifference(stored, { ...change, ticks })
  return {
    retracted: retracted.filter(({ block, version }) => block.number <= published || version >= FINAL_HISTORY),
    inserted: inserted.filter(({ block }) => block.number <= published),
  }
}

/**
 * Unchanged ticks are in neither list. A tick that an earlier try of this job wrote is inserted again, because the stream may have been
 * published after that try.
 */
function tickDifference(stored: readonly VersionedTick[], { ticks, job }: TickReplacement): TickDifference {
  const version = finalRowVersion(job)
  const next = new Map(ticks.map((tick) => [identityOf(tick), tick]))
  const unchanged = new Set<string>()
  const retracted: VersionedTick[] = []
  for (const old of stored) {
    const identity = identityOf(old)
    const fresh = next.get(identity)
    const isKept = old.version > version || (fresh !== undefined && isSame(old, fresh))
    if (!isKept) retracted.push(old)
    else if (old.version !== version) unchanged.add(identity)
  }
  return { retracted, inserted: ticks.filter((tick) => !unchanged.has(identityOf(tick))) }
}

function identityOf({ block, tick }: VersionedTick): string {
  return `${tick.pool} ${block.number} ${tick.logIndex}`
}

/** As rows replace each other. */
function keyOf(one: VersionedTick): string {
  return `${identityOf(one)} ${one.block.timestamp}`
}

const FIELDS: readonly (keyof Tick)[] = [
  'transactionHash',
  'sender',
  'amount0',
  'amount1',
  'sqrtPriceX96',
  'liquidity',
  'poolTick',
  'fee',
  'price',
  'spotPrice',
  'amountUsdMicros',
]

function isSame(one: VersionedTick, other: VersionedTick): boolean {
  return one.block.timestamp === other.block.timestamp && FIELDS.every((field) => one.tick[field] === other.tick[field])
}
