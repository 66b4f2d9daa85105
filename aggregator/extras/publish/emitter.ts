/** Makes records of changed rows, with their pools and finality, and hands them to the sink. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { Pool, PoolId } from '../../../ingest/model/pool.ts'
import type { PoolSighting } from '../../ledger/observer.ts'
import { askGroups, poolGroups } from '../../store/pool-groups.ts'
import { ask, loadSql } from '../../store/store.ts'
import { storedPools } from '../../store/stored-pools.ts'
import type { PublishedCandle, PublishedPool, PublishedTick, VersionedTick } from './publication.ts'
import type { PublisherOptions } from './publish-options.ts'
import type { VersionedBucket } from './stored-candles.ts'

const sightedBelow = loadSql(import.meta.url, './sighted_below.sql')

/** Changes of one publication; each list in the order of its records. */
export type EmittedChanges = {
  retracted?: readonly VersionedTick[]
  inserted?: readonly VersionedTick[]
  pools?: readonly PoolSighting[]
  /** Pools that blocks from `removedFrom` on name: gone where no older block names them. */
  removed?: readonly PoolSighting[]
  removedFrom?: number
  buckets?: readonly VersionedBucket[]
  /** Time of the newest published block. */
  at: UnixSeconds
  /** All blocks count as final, even blocks above the ledger's final one. */
  isFinal?: boolean
}

export type Emitter = {
  /** Resolves once all records are acknowledged. */
  emit(changes: EmittedChanges): Promise<void>
}

export function openEmitter(client: ClickHouseClient, options: PublisherOptions): Emitter {
  const { network, ledger, versions, finality, sink } = options
  const cache = openPoolCache(client, network)
  let final = { number: 0, timestamp: 0 }

  /** A candle that ends at or before this second does not change any more. */
  async function finalTime(at: UnixSeconds): Promise<UnixSeconds> {
    if (finality === 'final') return at
    const { finalized } = ledger
    if (finalized > final.number) final = { number: finalized, timestamp: (await ledger.at(finalized))?.timestamp ?? 0 }
    return final.timestamp
  }

  async function poolChanges({ pools = [], removed = [], removedFrom = 0 }: EmittedChanges): Promise<PublishedPool[]> {
    const isFinal = (block: number) => block <= ledger.finalized
    const named = pools.map(({ pool, block }) => ({ id: pool.id, pool, block, isFinal: isFinal(block) }))
    const groups = poolGroups(removed.map(({ pool }) => pool.id))
    const kept = await askGroups(groups, (ids) =>
      ask<{ pool: string }>(client, sightedBelow, { network, pools: ids, first: removedFrom }),
    )
    const keptIds = new Set(kept.map(({ pool }) => pool))
    const gone = removed.filter(({ pool }) => !keptIds.has(pool.id))
    return [...named, ...gone.map(({ pool, block }) => ({ id: pool.id, pool: undefined, block, isFinal: false }))]
  }

  return {
    async emit(changes) {
      const { retracted = [], inserted = [], pools = [], buckets = [], at, isFinal = false } = changes
      const version = versions.next()
      cache.add(pools.map(({ pool }) => pool))
      const ids = [...retracted, ...inserted].map(({ tick }) => tick.pool)
      const known = await cache.get([...ids, ...buckets.map(({ bucket }) => bucket.pool)])
      const tickChanges = (op: PublishedTick['op'], ticks: readonly VersionedTick[]) =>
        ticks.flatMap((one): PublishedTick[] => {
          const pool = known.get(one.tick.pool)
          const isFinalTick = op === 'insert' && (isFinal || one.block.number <= ledger.finalized)
          return pool ? [{ ...one, version, op, pool, isFinal: isFinalTick }] : []
        })
      const closedAt = buckets.length > 0 ? await finalTime(at) : 0
      const candles = buckets.flatMap(({ bucket, version }): PublishedCandle[] => {
        const pool = known.get(bucket.pool)
        return pool ? [{ bucket, pool, version, isFinal: bucket.start + bucket.resolution <= closedAt }] : []
      })
      const ticks = [...tickChanges('retract', retracted), ...tickChanges('insert', inserted)]
      const named = await poolChanges(changes)
      if (ticks.length + candles.length + named.length === 0) return
      await sink.publish({ network, pools: named, ticks, candles })
    },
  }
}

const MAX_POOLS = 20_000

/** Pools by id, with their tokens: a record names both. */
function openPoolCache(client: ClickHouseClient, network: NetworkName) {
  const cached = new Map<PoolId, Pool>()
  const read = storedPools(client, network)

  function add(pools: readonly Pool[]): void {
    if (cached.size + pools.length > MAX_POOLS) cached.clear()
    for (const pool of pools) cached.set(pool.id, pool)
  }

  return {
    add,
    /** Stored pools among `ids`. */
    async get(ids: Iterable<PoolId>): Promise<ReadonlyMap<PoolId, Pool>> {
      const wanted = [...new Set(ids)]
      const found = new Map(wanted.flatMap((id) => [cached.get(id) ?? []].flat().map((pool) => [id, pool] as const)))
      const pools = await read(wanted.filter((id) => !found.has(id)))
      add(pools)
      for (const pool of pools) found.set(pool.id, pool)
      return found
    },
  }
}
