/** Reads stored candles for the cache. What is asked for while questions are under way waits, and goes out together: one question is most of the work. */
import type { ClickHouseClient } from '@clickhouse/client'
import { RESOLUTIONS, type Resolution } from '../../../aggregator/candles/candle.ts'
import { queryBytes, readSql } from '../../lib/store.ts'
import type { Listing } from '../model/listing.ts'
import { clampTime, type RangesByResolution } from '../model/windows.ts'
import { type BucketRows, groupRows } from './bucket-rows.ts'

const BUCKETS = readSql(new URL('./buckets.sql', import.meta.url))

/** Questions under way at once. */
const MAX_QUERIES = 4
/** Chunks that a question answers, unless a single one asks for more. */
const MAX_CHUNKS_PER_QUERY = 64

/** A stretch of each resolution that is asked for, and how many chunks they are. */
export type ChunkRequest = { listing: Listing; ranges: RangesByResolution; chunks: number }

/** `askedAt`: on the clock of whoever asks, when the question went out. */
export type LoadedChunks = { queriedAt: number; rows(resolution: Resolution): BucketRows }

type QueuedRequest = ChunkRequest & { resolve(loaded: LoadedChunks): void; reject(error: unknown): void }

export function bucketLoads(
  reader: ClickHouseClient,
  tick: () => number,
): (wanted: ChunkRequest) => Promise<LoadedChunks> {
  /** By what a question has in common. */
  const waiting = new Map<string, QueuedRequest[]>()
  let underWay = 0

  function sendWaiting(): void {
    while (underWay < MAX_QUERIES) {
      const [first] = waiting
      if (!first) return
      const [key, all] = first
      const together = upTo(MAX_CHUNKS_PER_QUERY, all)
      waiting.delete(key)
      if (together.length < all.length) waiting.set(key, all.slice(together.length))
      underWay++
      void send(together).finally(() => {
        underWay--
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
    const askedAt = tick()
    try {
      const rows = groupRows(await queryBytes(reader, BUCKETS, parameters), { untraded: false })
      for (const { listing, resolve } of together) {
        const place = pools.indexOf(listing.pool.id)
        resolve({ queriedAt: askedAt, rows: (resolution) => rows({ place, resolution }) })
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
      // The pools of a pair are asked for in one turn.
      setImmediate(sendWaiting)
    })
}

/** The first ones, at least one. */
function upTo(most: number, waiting: readonly QueuedRequest[]): readonly QueuedRequest[] {
  let chunks = 0
  const end = waiting.findIndex((one, index) => {
    chunks += one.chunks
    return index > 0 && chunks > most
  })
  return end < 0 ? waiting : waiting.slice(0, end)
}
