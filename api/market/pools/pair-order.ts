/** The first pools of one crowded pair in memory, and the pools that writes touched since they were read. */
import { serial } from '../../../ingest/lib/serial.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'

export type TopOfPair = {
  /** At most 120, the most valuable first; of equal value by volume, then by id. */
  byValue: readonly TopPool[]
  /** Pools that traded or hold something: one of them leads. */
  leads: readonly PoolId[]
  /** All pools of a symbol that may be worth $10,000, or one of the others, where these are few: they have no order. */
  few: readonly PoolId[]
  touched: readonly PoolId[]
  /** Number of pools worth $10,000 or more. */
  sound: number
}

export type TopPool = { pool: PoolId; valueUsd: number }

/** `areAll`: false where the pair may have other first pools. */
export type LoadedOrder = { top: Omit<TopOfPair, 'touched'>; areAll: boolean }

/** Finds the pools of the pair among some pools, and the ones that are not stored yet. */
export type FindInPair = (
  pools: readonly PoolId[],
) => Promise<{ ofPair: readonly PoolId[]; unknown: readonly PoolId[] }>

/** `next`: the place of the first touched pool that was not looked up; `unknown`: touched pools that are not stored yet. */
type CachedOrder = LoadedOrder & {
  loadedMs: number
  next: number
  compared: ReadonlySet<PoolId>
  touched: Set<PoolId>
  unknown: readonly PoolId[]
}

/** Touched pools of a network that are kept. A busy network touches as many in some minutes. */
const MAX_KEPT = 5_000
const MAX_TOUCHED = 16
const MAX_UNKNOWN = 64
/** The order may be old, because touched pools are compared anyway. At this age it is read again, and answers until then while it has all touched pools. */
const MAX_AGE_MS = 600_000
/** The same if too many pools were touched, or the touched pools are unknown. */
const RELOAD_AFTER_MS = 60_000

export class PairOrder {
  readonly #load: () => Promise<LoadedOrder>
  readonly #written: TouchedPools
  readonly #find: FindInPair
  readonly #maxAgeMs: number
  readonly #serialize = serial()
  #cached: CachedOrder | undefined
  #running: Promise<CachedOrder> | undefined

  /** `written`: of the pair's network; `freshMs`: with 0, nothing is kept in memory. */
  constructor(load: () => Promise<LoadedOrder>, written: TouchedPools, find: FindInPair, freshMs: number) {
    this.#load = load
    this.#written = written
    this.#find = find
    this.#maxAgeMs = Math.min(600 * freshMs, MAX_AGE_MS)
  }

  /** Waits for the store at the first call, and where the order is too old to serve. */
  async read(): Promise<TopOfPair> {
    await this.advance()
    const now = performance.now()
    const order = this.#cached
    const ageMs = order ? now - order.loadedMs : Number.POSITIVE_INFINITY
    if (order === undefined || this.#maxAgeMs === 0 || (ageMs > this.#maxAgeMs && !order.areAll)) {
      const loaded = await this.#reload()
      await this.#serialize(() => this.#addTouched(loaded))
      return topOf(loaded)
    }
    // The next caller repeats a read that fails.
    if (ageMs > (order.areAll ? this.#maxAgeMs : RELOAD_AFTER_MS)) this.#reload().catch(() => undefined)
    return topOf(order)
  }

  /** Takes in the pools that were touched since the last call. */
  async advance(): Promise<void> {
    await this.#serialize(async () => {
      if (this.#cached) await this.#addTouched(this.#cached)
    })
  }

  async #addTouched(order: CachedOrder): Promise<void> {
    const { pools, areAll } = this.#written.since(order.next)
    const end = this.#written.end
    const asked = [...new Set([...order.unknown, ...pools])].filter((pool) => !order.compared.has(pool))
    if (asked.length > 0) {
      const { ofPair, unknown } = await this.#find(asked)
      for (const pool of ofPair) {
        // The newest last.
        order.touched.delete(pool)
        order.touched.add(pool)
      }
      order.unknown = unknown.slice(-MAX_UNKNOWN)
      if (order.touched.size > MAX_TOUCHED || unknown.length > MAX_UNKNOWN) order.areAll = false
      keepLast(order.touched, MAX_TOUCHED)
    }
    order.next = end
    if (!areAll) order.areAll = false
  }

  #reload(): Promise<CachedOrder> {
    // Without memory each call reads the tables.
    if (this.#running && this.#maxAgeMs > 0) return this.#running
    const [loadedMs, next] = [performance.now(), this.#written.end]
    const running = this.#load()
      .then(({ top, areAll }) => {
        const leads = new Set(top.leads)
        const compared = new Set(top.byValue.map(({ pool }) => pool).filter((pool) => leads.has(pool)))
        this.#cached = { top, areAll, loadedMs, next, compared, touched: new Set(), unknown: [] }
        return this.#cached
      })
      .finally(() => {
        if (this.#running === running) this.#running = undefined
      })
    this.#running = running
    return running
  }
}

function topOf({ top, touched }: CachedOrder): TopOfPair {
  return { ...top, touched: [...touched] }
}

function keepLast(pools: Set<PoolId>, count: number): void {
  for (const pool of pools) {
    if (pools.size <= count) return
    pools.delete(pool)
  }
}

/** The pools of a network that writes touched, the newest last: earlier reads of them may be old. */
export class TouchedPools {
  #pools: PoolId[] = []
  /** The place of the first one that is kept. */
  #first = 0

  /** The place of the next one. */
  get end(): number {
    return this.#first + this.#pools.length
  }

  /** Without pools: any may have changed. */
  add(pools: Iterable<PoolId> | undefined): void {
    if (pools === undefined) {
      this.#first = this.end + 1
      this.#pools = []
      return
    }
    for (const pool of pools) this.#pools.push(pool)
    const over = this.#pools.length - MAX_KEPT
    // Half of them at once, so that most additions copy nothing.
    if (over <= 0) return
    const dropped = Math.max(over, MAX_KEPT / 2)
    this.#pools = this.#pools.slice(dropped)
    this.#first += dropped
  }

  /** `areAll`: false where others were touched since that place, too. */
  since(place: number): { pools: readonly PoolId[]; areAll: boolean } {
    return { pools: this.#pools.slice(Math.max(0, place - this.#first)), areAll: place >= this.#first }
  }
}
