/** Pools that are stored later than blocks with their ticks: records name the tokens of a pool, so these ticks are not published yet. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolSighting } from '../../ledger/observer.ts'
import type { CandleFeed } from './candle-feed.ts'
import type { PublishCursor } from './cursor.ts'
import type { EmittedChanges } from './emitter.ts'
import { touchedBy } from './stored-candles.ts'
import { readStoredTicks } from './stored-ticks.ts'

/** Changes that the publication up to the cursor lacks. No tick of these pools is published, because the pools were unknown. */
export async function latePoolChanges(
  client: ClickHouseClient,
  network: NetworkName,
  pools: readonly PoolSighting[],
  { cursor, candles }: { cursor: PublishCursor; candles: CandleFeed },
): Promise<EmittedChanges> {
  const { number: last, timestamp: at } = cursor
  if (last < 0) return { at }
  const ids = [...new Set(pools.map(({ pool }) => pool.id))]
  const inserted = await readStoredTicks(client, network, { first: 0, last }, ids)
  const buckets = await candles.ofRecomputed(touchedBy(inserted), at)
  return { pools: pools.filter(({ block }) => block <= last), inserted, buckets, at }
}
