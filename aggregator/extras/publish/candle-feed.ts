/** Which candles a batch publishes: each one that changed, or (`final`) each one once it is closed by a final block. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { bucketStart, RESOLUTIONS } from '../../candles/candle.ts'
import { mergeTouched, type TouchedPool } from '../../candles/recompute.ts'
import type { PublishFinality } from './publication.ts'
import type { PublishBatch } from './publish-batch.ts'
import { type BucketKey, readBucketsAt, readStoredCandles, touchedBy, type VersionedBucket } from './stored-candles.ts'

export type CandleFeed = {
  ofBatch(batch: PublishBatch): Promise<readonly VersionedBucket[]>
  /** `at`: time of the newest published block. */
  ofRecomputed(touched: readonly TouchedPool[], at: UnixSeconds): Promise<readonly VersionedBucket[]>
  /** All candles that a block of this time closes are published. */
  acknowledged(at: UnixSeconds): void
}

export async function openCandleFeed(
  client: ClickHouseClient,
  network: NetworkName,
  /** `none`: no candle is read or published. */
  finality: PublishFinality | 'none',
  at: UnixSeconds,
): Promise<CandleFeed> {
  if (finality === 'none') return NO_CANDLES
  const read = (touched: readonly TouchedPool[]) => readStoredCandles(client, network, touched)
  if (finality === 'instant')
    return {
      ofBatch: async ({ ticks, buckets }) => buckets ?? read(touchedBy(ticks)),
      ofRecomputed: read,
      acknowledged: () => {},
    }

  /** Buckets with published ticks that a final block has not closed yet. */
  const open = new Map<string, BucketKey>((await readBucketsAt(client, network, at)).map((key) => [nameOf(key), key]))

  async function closed(second: UnixSeconds): Promise<readonly VersionedBucket[]> {
    const due = [...open.values()].filter((key) => isClosed(key, second))
    const touched = due.map(({ pool, start }) => ({ pool, first: start, last: start }))
    const names = new Set(due.map(nameOf))
    return (await read(mergeTouched(touched))).filter(({ bucket }) => names.has(nameOf(bucket)))
  }

  return {
    ofBatch({ ticks, last }) {
      for (const { block, tick } of ticks) {
        for (const resolution of RESOLUTIONS) {
          const key = { pool: tick.pool, resolution, start: bucketStart(block.timestamp, resolution) }
          open.set(nameOf(key), key)
        }
      }
      return closed(last.timestamp)
    },
    async ofRecomputed(touched, second) {
      const found = await read(touched)
      return found.filter(({ bucket }) => {
        if (isClosed(bucket, second)) return true
        if (bucket.start <= second) open.set(nameOf(bucket), bucket)
        return false
      })
    },
    acknowledged(second) {
      for (const [name, key] of open) if (isClosed(key, second)) open.delete(name)
    },
  }
}

const NO_CANDLES: CandleFeed = {
  ofBatch: async () => [],
  ofRecomputed: async () => [],
  acknowledged: () => {},
}

function isClosed({ start, resolution }: BucketKey, second: UnixSeconds): boolean {
  return start + resolution <= second
}

function nameOf({ pool, resolution, start }: BucketKey): string {
  return `${pool} ${resolution} ${start}`
}
