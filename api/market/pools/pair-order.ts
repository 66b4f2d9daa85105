/** The first pools of one crowded pair in memory, with those that writes touched since they were read. */
import type { PoolId } from '../../../ingest/model/pool.ts'
import { matchIn, type PairSearch } from './pair-search.ts'
import type { TouchedPools } from './touched-pools.ts'

export type TopOfPair = {
  /** At most 120, the most valuable first; of equal value by volume, then by id. */
  byValue: readonly TopPool[]
  /** Pools that traded or hold something: one of them leads. */
  leads: readonly PoolId[]
  touched: readonly PoolId[]
  /** All pools of the pair. */
  count: number
  /** Pools worth $10,000 or more. */
  sound: number
}

export type TopPool = { pool: PoolId; valueUsd: number }

/** `areAll`: false where the pair may have other first pools. */
export type LoadedOrder = { top: Omit<TopOfPair, 'touched'>; areAll: boolean }

/** `next`: the place of the first touched pool that was not looked at; `unknown`: touched before the catalogue has them. */
type Held = LoadedOrder & {
  loadedMs: number
  next: number
  compared: ReadonlySet<PoolId>
  touched: Set<PoolId>
  unknown: Set<PoolId>
}

const MAX_TOUCHED = 16
const MAX_UNKNOWN = 64
/** Pools that a write touches are looked at anyway, so that the order may be old. It is read again while it serves, and serves while it has all of these. */
const MAX_AGE_MS = 600_000
/** Where too many were touched, or it is not known which. */
const RELOAD_AFTER_MS = 60_000

export class PairOrder {
  readonly #load: () => Promise<LoadedOrder>
  readonly #written: TouchedPools
  readonly #maxAgeMs: number
  #held: Held | undefined
  #running: Promise<Held> | undefined

  /** `written`: of the pair's network; `freshMs`: 0 where nothing is held in memory. */
  constructor(load: () => Promise<LoadedOrder>, written: TouchedPools, freshMs: number) {
    this.#load = load
    this.#written = written
    this.#maxAgeMs = Math.min(600 * freshMs, MAX_AGE_MS)
  }

  /** Waits for the store at the first call, and where the order is too old to serve. */
  async read(search: PairSearch): Promise<TopOfPair> {
    this.advance(search)
    const now = performance.now()
    const held = this.#held
    const ageMs = held ? now - held.loadedMs : Number.POSITIVE_INFINITY
    if (held === undefined || this.#maxAgeMs === 0 || (ageMs > this.#maxAgeMs && !held.areAll)) {
      const loaded = await this.#reload()
      addTouched(loaded, search, this.#written)
      return topOf(loaded)
    }
    // The next caller repeats a read that fails.
    if (ageMs > (held.areAll ? this.#maxAgeMs : RELOAD_AFTER_MS)) this.#reload().catch(() => undefined)
    return topOf(held)
  }

  /** Takes in what was touched since the last call. */
  advance(search: PairSearch): void {
    if (this.#held) addTouched(this.#held, search, this.#written)
  }

  #reload(): Promise<Held> {
    // Without memory each call reads what is stored at that time.
    if (this.#running && this.#maxAgeMs > 0) return this.#running
    const [loadedMs, next] = [performance.now(), this.#written.end]
    const running = this.#load()
      .then(({ top, areAll }) => {
        const leads = new Set(top.leads)
        const compared = new Set(top.byValue.map(({ pool }) => pool).filter((pool) => leads.has(pool)))
        this.#held = { top, areAll, loadedMs, next, compared, touched: new Set(), unknown: new Set() }
        return this.#held
      })
      .finally(() => {
        if (this.#running === running) this.#running = undefined
      })
    this.#running = running
    return running
  }
}

function topOf({ top, touched }: Held): TopOfPair {
  return { ...top, touched: [...touched] }
}

function addTouched(held: Held, search: PairSearch, written: TouchedPools): void {
  const { pools, areAll } = written.since(held.next)
  held.next = written.end
  if (!areAll) held.areAll = false
  const unknown = [...held.unknown]
  held.unknown.clear()
  for (const pool of [...unknown, ...pools]) {
    if (held.compared.has(pool)) continue
    const listing = search.pools.pool(pool)
    if (listing === undefined) held.unknown.add(pool)
    else if (matchIn(search, listing) !== undefined) {
      // The newest last.
      held.touched.delete(pool)
      held.touched.add(pool)
    }
  }
  if (held.touched.size > MAX_TOUCHED || held.unknown.size > MAX_UNKNOWN) held.areAll = false
  keepLast(held.touched, MAX_TOUCHED)
  keepLast(held.unknown, MAX_UNKNOWN)
}

function keepLast(pools: Set<PoolId>, count: number): void {
  for (const pool of pools) {
    if (pools.size <= count) return
    pools.delete(pool)
  }
}
