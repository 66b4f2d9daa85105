/** Batches reads of chunks: per-query overhead dominates, so requests that arrive while MAX_QUERIES run are merged into the next ones. */
import type { ClickHouseClient } from '@clickhouse/client'
import { RESOLUTIONS, type Resolution } from '../../../aggregator/candles/candle.ts'
import { queryBytes, readSql } from '../../lib/store.ts'
import type { Listing } from '../model/listing.ts'
import { clampTime, type RangesByResolution } from '../model/windows.ts'
import { type BucketRows, groupRows } from './bucket-rows.ts'

const BUCKETS = readSql(new URL('./buckets.sql', import.meta.url))

const MAX_QUERIES = 4
/** A single request may exceed it. */
const MAX_CHUNKS_PER_QUERY = 64

/** A range for each resolution, and their number of chunks. */
export type ChunkRequest = { listing: Listing; ranges: RangesByResolution; chunks: number }

/** `queriedAt`: see `BucketCache.nextQueryNumber`. */
export type LoadedChunks = { queriedAt: number; rows(resolution: Resolution): BucketRows }

type QueuedRequest = ChunkRequest & { resolve(loaded: LoadedChunks): void; reject(error: unknown): void }

export function bucketLoads(
  reader: ClickHouseClient,
  nextQueryNumber: () => number,
): (wanted: ChunkRequest) => Promise<LoadedChunks> {
  /** By network and ranges: requests with equal ones differ in their pools only, and share a query. */
  const waiting = new Map<string, QueuedRequest[]>()
  let running = 0

  function sendWaiting(): void {
    while (running < MAX_QUERIES) {
      const [first] = waiting
      if (!first) return
      const [key, all] = first
      const together = upTo(MAX_CHUNKS_PER_QUERY, all)
      waiting.delete(key)
      if (together.length < all.length) waiting.set(key, all.slice(together.length))
      running++
      void send(together).finally(() => {
        running--
        sendWaiting()
      })
    }
  }

  async function send(together: readonly QueuedRequest[]): Promise<void> {
    const [first] = together
    if (!first) return
    const pools = [...new Set(together.map(({ listing }) => listing.pool.id))]
    const parameters: Record<string, unknown> = { network: first.listing.network.name, pools }
    for (const resolution of RESOLUTIONS) {
      const { from, to } = first.ranges.get(resolution) ?? { from: 0, to: 0 }
      Object.assign(parameters, { [`from${resolution}`]: clampTime(from), [`to${resolution}`]: clampTime(to) })
    }
    const queriedAt = nextQueryNumber()
    try {
      const rows = groupRows(await queryBytes(reader, BUCKETS, parameters), { untraded: false })
      for (const { listing, resolve } of together) {
        const place = pools.indexOf(listing.pool.id)
        resolve({ queriedAt, rows: (resolution) => rows({ place, resolution }) })
      }
    } catch (error) {
      for (const { reject } of together) reject(error)
    }
  }

  return (wanted) =>
    new Promise((resolve, reject) => {
      const { network } = wanted.listing
      const ranges = [...wanted.ranges].map(([resolution, { from, to }]) => `${resolution} ${from} ${to}`)
      const key = [network.name, ...ranges.sort()].join('/')
      waiting.set(key, [...(waiting.get(key) ?? []), { ...wanted, resolve, reject }])
      // All pools of a pair are requested within one turn of the event loop.
      setImmediate(sendWaiting)
    })
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
