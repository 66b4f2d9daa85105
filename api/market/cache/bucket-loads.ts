/**
 * Batches reads of chunks: requests that arrive while MAX_QUERIES run are merged into the next ones, with any pools and ranges. Of one
 * request alone ClickHouse spends 9 ms of CPU, of eight in one query 3 ms each.
 */
import { type ClickHouseClient, TupleParam } from '@clickhouse/client'
import type { Resolution } from '../../../aggregator/candles/candle.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { queryBytes, readSql } from '../../lib/store.ts'
import type { TimeRange } from '../../query/time-range.ts'
import type { Listing } from '../model/listing.ts'
import { clampTime, type RangesByResolution } from '../model/windows.ts'
import { type BucketRows, cut } from './bucket-rows.ts'
import { CHUNK_SECONDS, chunkIndex, chunkKeysIn } from './chunk-keys.ts'
import { groupRows } from './group-rows.ts'

const BUCKETS = readSql(new URL('./buckets.sql', import.meta.url))

const FORMAT = '\nSETTINGS max_threads = 1\nFORMAT RowBinary'

const MAX_QUERIES = 4
/** A single request may exceed it. */
const MAX_CHUNKS_PER_QUERY = 64

/** A range of whole chunks for each resolution, and their number. */
export type ChunkRequest = { listing: Listing; ranges: RangesByResolution; chunks: number }

/** `queriedAt`: see `BucketCache.nextQueryNumber`. */
export type LoadedChunks = { queriedAt: number; rows(resolution: Resolution, range: TimeRange): BucketRows }

type QueuedRequest = ChunkRequest & { resolve(loaded: LoadedChunks): void; reject(error: unknown): void }

export type BucketLoads = {
  load(wanted: ChunkRequest): Promise<LoadedChunks>
  /** True where no request runs or waits. */
  isIdle(): boolean
}

export function bucketLoads(reader: ClickHouseClient, nextQueryNumber: () => number): BucketLoads {
  /** By network. */
  const waiting = new Map<NetworkName, QueuedRequest[]>()
  let running = 0

  function sendWaiting(): void {
    while (running < MAX_QUERIES) {
      const [first] = waiting
      if (!first) return
      const [network, all] = first
      const together = upTo(MAX_CHUNKS_PER_QUERY, all)
      // Networks take turns.
      waiting.delete(network)
      if (together.length < all.length) waiting.set(network, all.slice(together.length))
      running++
      void send(network, together).finally(() => {
        running--
        sendWaiting()
      })
    }
  }

  async function send(network: NetworkName, together: readonly QueuedRequest[]): Promise<void> {
    const pools = [...new Set(together.map(({ listing }) => listing.pool.id))]
    const { condition, parameters } = chunksOf(together)
    const queriedAt = nextQueryNumber()
    try {
      const bytes = await queryBytes(reader, `${BUCKETS}${condition}${FORMAT}`, { network, pools, ...parameters })
      const rows = groupRows(bytes, { untraded: false })
      for (const { listing, resolve } of together) {
        const place = pools.indexOf(listing.pool.id)
        resolve({ queriedAt, rows: (resolution, range) => cut(rows({ place, resolution }), range) })
      }
    } catch (error) {
      for (const { reject } of together) reject(error)
    }
  }

  return {
    isIdle: () => running === 0 && waiting.size === 0,
    load: (wanted) =>
      new Promise((resolve, reject) => {
        const { name } = wanted.listing.network
        const queue = waiting.get(name)
        if (queue) queue.push({ ...wanted, resolve, reject })
        else waiting.set(name, [{ ...wanted, resolve, reject }])
        // All pools of a pair are requested within one turn of the event loop.
        setImmediate(sendWaiting)
      }),
  }
}

/** The condition that selects the requested rows: a set of chunks for each resolution, since ClickHouse plans a term a range for 1 ms each. */
function chunksOf(requests: readonly ChunkRequest[]): { condition: string; parameters: Record<string, TupleParam[]> } {
  const chunks = new Map<Resolution, TupleParam[]>()
  for (const { listing, ranges } of requests) {
    for (const [resolution, range] of ranges) {
      const keys = chunkKeysIn(resolution, storable(range)).map(
        (key) => new TupleParam([listing.pool.id, chunkIndex(key)]),
      )
      chunks.set(resolution, [...(chunks.get(resolution) ?? []), ...keys])
    }
  }
  const terms = [...chunks.keys()].map((resolution) => {
    const index = `intDiv(toUnixTimestamp(c.time), ${CHUNK_SECONDS[resolution]})`
    return `(resolution = ${resolution} AND (pool, ${index}) IN {chunks${resolution}:Array(Tuple(String, UInt32))})`
  })
  const parameters = [...chunks].map(([resolution, keys]) => [`chunks${resolution}`, keys])
  return { condition: `  AND (${terms.join('\n  OR ')})`, parameters: Object.fromEntries(parameters) }
}

function storable({ from, to }: TimeRange): TimeRange {
  return { from: clampTime(from), to: clampTime(to) }
}

/** The first requests, at least one. */
function upTo(maxChunks: number, waiting: readonly QueuedRequest[]): readonly QueuedRequest[] {
  let chunks = 0
  const end = waiting.findIndex((one, index) => {
    chunks += one.chunks
    return index > 0 && chunks > maxChunks
  })
  return end < 0 ? waiting : waiting.slice(0, end)
}
