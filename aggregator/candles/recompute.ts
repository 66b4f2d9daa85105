/** Recompute: ClickHouse derives candles from the stored ticks. The result does not depend on earlier candles. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { poolGroups } from '../store/pool-groups.ts'
import type { Enqueue } from '../store/priority-queue.ts'
import { loadSql, run } from '../store/store.ts'
import { bucketStart, RESOLUTIONS } from './candle.ts'
import type { CandleVersions } from './writer-epoch.ts'

/** The buckets of `pools` that hold a second from `first` to `last`, both included. */
export type RecomputeScope = { pools: readonly PoolId[]; first: number; last: number }

/** A pool, and the first and last second in which something of it changed. */
export type TouchedPool = { pool: PoolId; first: number; last: number }

export function scopeOf(touched: readonly TouchedPool[]): RecomputeScope {
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const pool of touched) {
    first = Math.min(first, pool.first)
    last = Math.max(last, pool.last)
  }
  return { pools: touched.map(({ pool }) => pool), first, last }
}

/** One entry a pool. */
export function mergeTouched(touched: readonly TouchedPool[]): readonly TouchedPool[] {
  const pools = new Map<PoolId, TouchedPool>()
  for (const { pool, first, last } of touched) {
    const known = pools.get(pool) ?? { pool, first, last }
    pools.set(pool, { pool, first: Math.min(known.first, first), last: Math.max(known.last, last) })
  }
  return [...pools.values()]
}

const fromTicks = loadSql(import.meta.url, './candles_from_ticks.sql')
const fromCandles = loadSql(import.meta.url, './candles_from_candles.sql')

export type RecomputeContext = {
  versions: CandleVersions
  /** Buckets that begin before this are not recomputed: see `readHorizon`. */
  horizon(): UnixSeconds
  /** Stored candles may be wrong until a rebuild is over: none is recomputed from finer ones. */
  isRebuilding?: boolean
}

/** Each statement is a task of its own. 1 s from ticks, 1 m from 1 s, 1 h from 1 m, 1 d from 1 h. May be repeated: the last one counts. */
export async function recompute(
  client: ClickHouseClient,
  network: NetworkName,
  scope: RecomputeScope,
  context: RecomputeContext,
  enqueue: Enqueue = (task) => task(),
): Promise<void> {
  const { versions } = context
  const oldest = context.horizon()
  for (const pools of poolGroups(scope.pools)) {
    for (const [index, resolution] of RESOLUTIONS.entries()) {
      const from = Math.max(bucketStart(scope.first, resolution), Math.ceil(oldest / resolution) * resolution)
      const to = bucketStart(scope.last, resolution) + resolution
      if (from >= to) continue
      const finer = RESOLUTIONS[index - 1]
      await enqueue(async () => {
        const parameters = { network, pools, from, to, version: versions.next().toString() }
        if (finer === undefined || context.isRebuilding)
          await run(client, fromTicks, { ...parameters, into: 'candles', resolution })
        else await run(client, fromCandles, { ...parameters, resolution, finer })
      })
    }
  }
}
