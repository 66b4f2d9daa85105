/** Caches the newest swaps of pools until a write touches the pool. */
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import type { TimeRange } from '../../query/time-range.ts'
import { listingKey } from '../model/listing.ts'
import type { TickView } from '../model/orientation.ts'
import type { TickRequest } from './ticks.ts'

/** Sum of the limits over all pools. */
const MAX_TICKS = 100_000

/** A query for the newest ticks ends now, and now moves: cached ticks are valid up to so many seconds later. No tick is that far in the future. */
const AHEAD = 12 * 3_600

/** The newest `limit` ticks of a range, ascending. */
type CachedTicks = { range: TimeRange; limit: number; ticks: Promise<readonly TickView[]> }

export class NewestTicks {
  readonly #load: (request: TickRequest) => Promise<readonly TickView[]>
  /** By `listingKey`, then by price kind and direction; least recently used first. */
  readonly #pools = new Map<string, Map<string, CachedTicks>>()
  #limits = 0

  constructor(load: (request: TickRequest) => Promise<readonly TickView[]>) {
    this.#load = load
  }

  /** The newest `limit` ticks of a range that ends after the tip, ascending. */
  async read(request: TickRequest): Promise<readonly TickView[]> {
    const { range, limit } = request
    const ticks = await this.#newest(request).ticks
    const last = ticks.at(-1)
    // Block times may be ahead of the local clock.
    if (last && last.time >= range.to) return this.#load(request)
    return ticks.filter(({ time }) => time >= range.from).slice(-limit)
  }

  /** A pending read still answers the queries that wait for it, and is not cached. Without pools: the whole network. */
  evict(network: NetworkName, pools?: Iterable<PoolId>): void {
    if (pools !== undefined) {
      for (const pool of pools) this.#drop(listingKey(network, pool))
      return
    }
    for (const key of [...this.#pools.keys()]) if (key.startsWith(listingKey(network, '' as PoolId))) this.#drop(key)
  }

  #newest(request: TickRequest): CachedTicks {
    const { view, price, range, limit } = request
    const key = listingKey(view.listing.network.name, view.listing.pool.id)
    const variants = this.#pools.get(key) ?? new Map<string, CachedTicks>()
    const variant = `${price} ${view.forward}`
    const cached = variants.get(variant)
    this.#pools.delete(key)
    this.#pools.set(key, variants)
    const isWithin = cached && cached.range.from <= range.from && range.to <= cached.range.to
    if (isWithin && limit <= cached.limit) return cached
    const onwards = { from: range.from, to: range.to + AHEAD }
    const newest = { range: onwards, limit, ticks: this.#load({ ...request, range: onwards }) }
    variants.set(variant, newest)
    this.#limits += limit - (cached?.limit ?? 0)
    newest.ticks.catch(() => {
      if (variants.get(variant) === newest) this.#drop(key)
    })
    this.#shrink()
    return newest
  }

  #shrink(): void {
    for (const key of this.#pools.keys()) {
      if (this.#limits <= MAX_TICKS) return
      this.#drop(key)
    }
  }

  #drop(key: string): void {
    for (const { limit } of this.#pools.get(key)?.values() ?? []) this.#limits -= limit
    this.#pools.delete(key)
  }
}
