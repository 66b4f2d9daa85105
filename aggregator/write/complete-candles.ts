/** Candles that memory lacks: ClickHouse recomputes them from the stored ticks, and the open ones are read back into memory. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { TickColumns } from '../../ingest/model/tick.ts'
import { readOpenCandles } from '../candles/candle-rows.ts'
import type { OpenCandles } from '../candles/open-candles.ts'
import { type RecomputeContext, recompute } from '../candles/recompute.ts'
import { askGroups, poolGroups } from '../store/pool-groups.ts'
import type { Enqueue } from '../store/priority-queue.ts'
import { ask, loadSql } from '../store/store.ts'
import type { VersionedContent } from './rows.ts'

const poolsAhead = loadSql(import.meta.url, './pools_ahead.sql')

export type CandleContext = RecomputeContext & { open: OpenCandles }

/** Call it once the ticks are stored. */
export async function completeCandles(
  client: ClickHouseClient,
  network: NetworkName,
  { blocks, ticks }: VersionedContent,
  pools: readonly PoolId[],
  { open, ...recomputeContext }: CandleContext,
  enqueue: Enqueue = (task) => task(),
): Promise<void> {
  if (pools.length === 0) return
  const { first, last } = tickTimes(ticks)
  await recompute(client, network, { pools, first, last }, recomputeContext, enqueue)
  await enqueue(async () => {
    const [recomputed, ahead] = await Promise.all([
      readOpenCandles(client, network, pools, last),
      readPoolsAhead(client, network, pools, last, blocks.at(-1)?.block.number ?? 0),
    ])
    open.load(
      pools,
      recomputed.filter(({ pool }) => !ahead.has(pool)),
      last,
    )
  })
}

/** Pools with ticks or candles that a stale writer wrote ahead of the stream. Cached candles of these pools would count the ticks twice. */
async function readPoolsAhead(
  client: ClickHouseClient,
  network: NetworkName,
  pools: readonly PoolId[],
  second: UnixSeconds,
  block: number,
): Promise<ReadonlySet<PoolId>> {
  const rows = await askGroups(poolGroups(pools), (pools) =>
    ask<{ pool: PoolId }>(client, poolsAhead, { network, pools, second, block }),
  )
  return new Set(rows.map(({ pool }) => pool))
}

function tickTimes({ time }: TickColumns): { first: UnixSeconds; last: UnixSeconds } {
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const second of time) {
    first = Math.min(first, second)
    last = Math.max(last, second)
  }
  return { first, last }
}
