/**
 * Rows of closed ranges, each kept with the reads of the cache that it was made of. It serves while the same reads return the same chunks in the
 * same state, so that a change or an eviction of a chunk drops it, too: there is no second protocol. See ../README.md.
 */
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { TimeRange } from '../../query/time-range.ts'
import type { Chunk } from '../cache/chunk.ts'
import { listingKey } from '../model/listing.ts'
import type { CandleView } from '../model/orientation.ts'
import { type CandleRequest, type CandleSource, readCandles } from './candles.ts'
import type { CandleCache } from './stored-candles.ts'

export type ClosedRows = {
  /** Rows of a range that no new block changes. The same array while nothing changes it. */
  read(request: CandleRequest, now: UnixSeconds): Promise<readonly CandleView[]>
}

type KeptRows = { rows: readonly CandleView[]; reads: CacheReads }

type CacheReads = {
  cache: CandleCache
  /** False where a part of the answer came from ClickHouse. */
  isWhole(): boolean
  /** True where the cache still returns the same chunks. */
  isCurrent(): Promise<boolean>
}

/** Memory of a row, and of its text as it is and compressed (http/kept-bodies.ts). */
const ROW_BYTES = 450
/** Added to a row by its flow. */
const FLOW_BYTES = 500
const ENTRY_BYTES = 1_000

export function openClosedRows(source: CandleSource, maxBytes: number): ClosedRows {
  /** Least recently used first. */
  const byKey = new Map<string, KeptRows>()
  let bytes = 0

  function drop(key: string, { rows }: KeptRows): void {
    if (byKey.delete(key)) bytes -= sizeOf(rows)
  }

  function keep(key: string, kept: KeptRows): void {
    const before = byKey.get(key)
    if (before) drop(key, before)
    byKey.set(key, kept)
    bytes += sizeOf(kept.rows)
    for (const [oldest, it] of byKey) {
      if (bytes <= maxBytes) return
      drop(oldest, it)
    }
  }

  return {
    async read(request, now) {
      const key = keyOf(request)
      const known = byKey.get(key)
      if (known && (await known.reads.isCurrent())) {
        // Another request may have replaced it meanwhile.
        if (byKey.get(key) === known) {
          byKey.delete(key)
          byKey.set(key, known)
        }
        return known.rows
      }
      const reads = recordReads(source.cache)
      const rows = await readCandles({ ...source, cache: reads.cache }, request, now)
      // Without filling, the start of a long range is searched for in ClickHouse; candles in dollars are not of the cache.
      if (request.fill === 'previous' && request.price !== 'usd' && reads.isWhole()) keep(key, { rows, reads })
      return rows
    },
  }
}

function sizeOf(rows: readonly CandleView[]): number {
  return ENTRY_BYTES + rows.length * (rows[0]?.flow ? ROW_BYTES + FLOW_BYTES : ROW_BYTES)
}

/** Everything of a request that its rows depend on beside the cache: of a closed range's coverage these are the backfilled runs and the gaps. */
function keyOf({ coverage: { backfilled, gaps }, ...request }: CandleRequest): string {
  const { view, interval, range, limit, fill, price, flow } = request
  const { network, pool } = view.listing
  const runs = backfilled.map(({ fromTime, toTime }) => `${fromTime}-${toTime}`).join()
  const missing = gaps.map(({ from, to }) => `${from}-${to}`).join()
  // The listing itself is another object after each new pool of the network.
  const decimals = `${pool.token0.decimals},${pool.token1.decimals}`
  return `${listingKey(network.name, pool.id)} ${decimals} ${view.forward} ${interval} ${range.from} ${range.to} ${limit} ${fill} ${price} ${flow} ${runs} ${missing}`
}

function recordReads(cache: CandleCache): CacheReads {
  const checks: (() => boolean | Promise<boolean>)[] = []
  let isWhole = true
  return {
    cache: {
      read(listing, resolution, range: TimeRange) {
        const found = cache.read(listing, resolution, range)
        if (found === undefined) isWhole = false
        const record = (chunks: Chunk[]): Chunk[] => {
          const states = chunks.map(({ queriedAt }) => queriedAt)
          const isSame = (chunk: Chunk, at: number) => chunk === chunks[at] && chunk.queriedAt === states[at]
          checks.push(() => {
            const again = cache.read(listing, resolution, range)
            if (Array.isArray(again)) return again.every(isSame)
            // The answer that follows awaits the same load, and has its error.
            again?.catch(() => undefined)
            return false
          })
          return chunks
        }
        return found instanceof Promise ? found.then(record) : found && record(found)
      },
      async closeBefore(listing, second, kind) {
        const close = await cache.closeBefore(listing, second, kind)
        checks.push(async () => {
          const again = await cache.closeBefore(listing, second, kind)
          return again?.from === close?.from && again?.close === close?.close && again?.spot_close === close?.spot_close
        })
        return close
      },
    },
    isWhole: () => isWhole,
    async isCurrent() {
      for (const check of checks) if (!(await check())) return false
      return true
    },
  }
}
