/** The difference between stored ticks and those that will replace them. */
import type { PoolId } from '../../ingest/model/pool.ts'
import type { Tick } from '../../ingest/model/tick.ts'
import { FINAL_HISTORY, finalRowVersion } from '../store/version.ts'
import type { VersionedTick } from './publication.ts'

/** The complete content of some blocks for some pools, or for all where `pools` is empty. */
export type TickReplacement = {
  first: number
  last: number
  pools: readonly PoolId[]
  ticks: readonly VersionedTick[]
  /** Stored rows of later jobs stay. */
  job: number
}

export type TickDifference = { retracted: readonly VersionedTick[]; inserted: readonly VersionedTick[] }

/**
 * Both ascending by block and log index. Ticks that stay as they are are in neither, unless they are of the job itself:
 * an earlier try wrote those, and the stream may have been published after that try. Above the block `published`, ticks are inserted with
 * the stream; there only rows of jobs are retracted: they stay published where a power cut takes their blocks off the ledger.
 */
export function tickDifference(
  stored: readonly VersionedTick[],
  { ticks, job }: TickReplacement,
  published: number,
): TickDifference {
  const version = finalRowVersion(job)
  const next = new Map(ticks.map((tick) => [identityOf(tick), tick]))
  const unchanged = new Set<string>()
  const retracted: VersionedTick[] = []
  for (const old of stored) {
    const identity = identityOf(old)
    const fresh = next.get(identity)
    const isKept = old.version > version || (fresh !== undefined && isSame(old, fresh))
    if (!isKept) {
      if (old.block.number <= published || old.version >= FINAL_HISTORY) retracted.push(old)
    } else if (old.version !== version) unchanged.add(identity)
  }
  return {
    retracted,
    inserted: ticks.filter((tick) => tick.block.number <= published && !unchanged.has(identityOf(tick))),
  }
}

function identityOf({ block, tick }: VersionedTick): string {
  return `${tick.pool} ${block.number} ${tick.logIndex}`
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
