/** Reads stored candles for the cache. What is asked for while questions are under way waits, and goes out together: one question is most of the work. */
import type { ClickHouseClient } from '@clickhouse/client'
import { RESOLUTIONS, type Resolution } from '../../../aggregator/candles/candle.ts'
import { askBytes, readSql } from '../../lib/store.ts'
import type { Listing } from '../model/listing.ts'
import { clampTime, type Ranges } from '../model/windows.ts'
import { type BucketRows, placedRows } from './bucket-rows.ts'

const BUCKETS = readSql(new URL('./buckets.sql', import.meta.url))

/** Questions under way at once. */
const MOST_QUESTIONS = 4
/** Chunks that a question answers, unless a single one asks for more. */
const MOST_CHUNKS = 64

/** A stretch of each resolution that is asked for, and how many chunks they are. */
export type Wanted = { listing: Listing; ranges: Ranges; chunks: number }

/** `askedAt`: on the clock of whoever asks, when the question went out. */
export type Loaded = { askedAt: number; rows(resolution: Resolution): BucketRows }

type Waiting = Wanted & { resolve(loaded: Loaded): void; reject(error: unknown): void }

export function bucketLoads(reader: ClickHouseClient, tick: () => number): (wanted: Wanted) => Promise<Loaded> {
  /** By what a question has in common. */
  const waiting = new Map<string, Waiting[]>()
  let underWay = 0

  function sendWaiting(): void {
    while (underWay < MOST_QUESTIONS) {
      const [first] = waiting
      if (!first) return
      const [key, all] = first
      const together = upTo(MOST_CHUNKS, all)
      waiting.delete(key)
      if (together.length < all.length) waiting.set(key, all.slice(together.length))
      underWay++
      void send(together).finally(() => {
        underWay--
        sendWaiting()
      })
    }
  }

  async function send(together: readonly Waiting[]): Promise<void> {
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
      const rows = placedRows(await askBytes(reader, BUCKETS, parameters), { untraded: false })
      for (const { listing, resolve } of together) {
        const place = pools.indexOf(listing.pool.id)
        resolve({ askedAt, rows: (resolution) => rows({ place, resolution }) })
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
function upTo(most: number, waiting: readonly Waiting[]): readonly Waiting[] {
  let chunks = 0
  const end = waiting.findIndex((one, index) => {
    chunks += one.chunks
    return index > 0 && chunks > most
  })
  return end < 0 ? waiting : waiting.slice(0, end)
}
