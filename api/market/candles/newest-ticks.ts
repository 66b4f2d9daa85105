/** The newest swaps of pools, held until something of the pool is written. */
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import type { TimeRange } from '../../query/time-range.ts'
import { listingKey } from '../model/listing.ts'
import type { TickView } from '../model/orientation.ts'
import type { TickRequest } from './ticks.ts'

/** Of all pools together. */
const MAX_TICKS = 100_000

/** For as long whoever asks for the newest ones is told the same, unless something is written: no tick is so far in the future. */
const AHEAD = 12 * 3_600

/** Those of a range, or the newest `limit` of them; ascending. */
type CachedTicks = { range: TimeRange; limit: number; ticks: Promise<readonly TickView[]> }

export class NewestTicks {
  readonly #load: (asked: TickRequest) => Promise<readonly TickView[]>
  /** By `listingKey`, then by the way in which they are shown; what was not asked for the longest first. */
  readonly #pools = new Map<string, Map<string, CachedTicks>>()
  #limits = 0

  constructor(load: (asked: TickRequest) => Promise<readonly TickView[]>) {
    this.#load = load
  }

  /** Of a range that ends after all that is on the ledger: the newest `limit`, ascending. */
  async read(asked: TickRequest): Promise<readonly TickView[]> {
    const { range, limit } = asked
    const ticks = await this.#newest(asked).ticks
    const last = ticks.at(-1)
    // A chain's clock may be ahead of ours.
    if (last && last.time >= range.to) return this.#load(asked)
    return ticks.filter(({ time }) => time >= range.from).slice(-limit)
  }

  /** What is on its way is told to whoever waits, and not held. */
  evict(network: NetworkName, pools?: Iterable<PoolId>): void {
    if (pools !== undefined) {
      for (const pool of pools) this.#drop(listingKey(network, pool))
      return
    }
    for (const key of [...this.#pools.keys()]) if (key.startsWith(listingKey(network, '' as PoolId))) this.#drop(key)
  }

  #newest(asked: TickRequest): CachedTicks {
    const { view, price, range, limit } = asked
    const key = listingKey(view.listing.network.name, view.listing.pool.id)
    const ways = this.#pools.get(key) ?? new Map<string, CachedTicks>()
    const way = `${price} ${view.forward}`
    const held = ways.get(way)
    this.#pools.delete(key)
    this.#pools.set(key, ways)
    const isWithin = held && held.range.from <= range.from && range.to <= held.range.to
    if (isWithin && limit <= held.limit) return held
    const onwards = { from: range.from, to: range.to + AHEAD }
    const newest = { range: onwards, limit, ticks: this.#load({ ...asked, range: onwards }) }
    ways.set(way, newest)
    this.#limits += limit - (held?.limit ?? 0)
    newest.ticks.catch(() => {
      if (ways.get(way) === newest) this.#drop(key)
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
