/**
 * The first pools of a crowded pair, by value and by volume. A pool costs next to nothing, and so does a swap of one unit: a query looks at no
 * more pools than these.
 */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Address } from 'viem'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { type CachedValue, cachedValue } from '../../lib/cached-value.ts'
import { limitConcurrency } from '../../lib/concurrency-limit.ts'
import { Problem } from '../../lib/problem.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import { ANY_TOKEN, matchIn, type PairSearch, type TokenSet } from './pair-search.ts'
import { TouchedPools } from './touched-pools.ts'

const TOP_POOLS = readSql(new URL('./top-pools.sql', import.meta.url))

/** A pair with more pools is crowded. */
export const CROWDED = 32
/** Below this value a pool's price is cheap to move. */
export const SOUND_USD = 10_000

/** By value; as many by time and by volume, see top-pools.sql, and as many that a write touched since. */
const MAX_LEADS = 16
/** Pools that a write touches are looked at anyway, so that the order may be old. */
const MAX_AGE_MS = 600_000
/** Where too many were touched, or it is not known which. */
const RELOAD_AFTER_MS = 60_000
const MAX_PAIRS = 500
/** A client may ask for one crowded pair after the other. */
const BOUNDS = { maxRunning: 2, maxQueued: 64, maxWaitMs: 10_000 }

/** Dollars a raw unit. */
export type TokenPrice = { token: Address; usd: number }
export type TopPool = { pool: PoolId; valueUsd: number }

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

export type TopPools = {
  /** `priced`: the tokens of the network that have a price. */
  read(search: PairSearch, priced: () => Promise<readonly TokenPrice[]>): Promise<TopOfPair>
  /** Without pools: any of the network may have changed. */
  touch(network: NetworkName, pools?: Iterable<PoolId>): void
}

/** `next`: the place of the first touched pool that was not looked at; `areAll`: false where the pair may have other first pools. */
type Loaded = {
  top: Omit<TopOfPair, 'touched'>
  loadedMs: number
  next: number
  touched: Set<PoolId>
  areAll: boolean
  isDue: boolean
}

/** The newest search and prices: those of a start hold pools that are read again. */
type AskedPair = { search: PairSearch; priced: () => Promise<readonly TokenPrice[]> }
type Pair = { asked: AskedPair; loaded: CachedValue<Loaded> }

type TopRow = {
  by_value: readonly [minusUsd: number, minusVolume: number, pool: PoolId, isActive: 0 | 1][]
  by_seconds: readonly [minusSeconds: number, pool: PoolId][]
  by_volume: readonly [minusVolume: number, pool: PoolId][]
  pools: number
  sound: number
}

/** `freshMs`: 0 where nothing is held in memory. */
export function openTopPools(reader: ClickHouseClient, freshMs: number): TopPools {
  /** The least recently asked first. */
  const pairs = new Map<string, Pair>()
  const written = new Map<NetworkName, TouchedPools>()
  const limited = limitConcurrency(BOUNDS)

  function writtenOn(network: NetworkName): TouchedPools {
    const pools = written.get(network) ?? new TouchedPools()
    written.set(network, pools)
    return pools
  }

  async function load({ search, priced }: AskedPair): Promise<Loaded> {
    const { name } = search.pools.network
    const [loadedMs, next] = [performance.now(), writtenOn(name).end]
    const prices = await priced()
    const parameters = {
      network: name,
      tokens: prices.map(({ token }) => token),
      usd: prices.map(({ usd }) => usd),
      ...namesOf(search),
      sound_usd: SOUND_USD,
    }
    const read = (only_v3: boolean) =>
      limited(() => queryRows<TopRow>(reader, TOP_POOLS, { ...parameters, only_v3 })).then(([row]) => topOf(row))
    const loaded = { loadedMs, next, touched: new Set<PoolId>(), isDue: false }
    try {
      return { ...loaded, top: await read(false), areAll: true }
    } catch (error) {
      // Any number of v4 pools may reach a limit of the store; a factory makes one v3 pool a fee.
      if (!(error instanceof Problem)) throw error
      return { ...loaded, top: await read(true), areAll: false }
    }
  }

  function cached(asked: AskedPair): CachedValue<Loaded> {
    const key = keyOf(asked.search)
    const pair: Pair = pairs.get(key) ?? {
      asked,
      loaded: cachedValue(() => load(pair.asked), Math.min(600 * freshMs, MAX_AGE_MS)),
    }
    pair.asked = asked
    pairs.delete(key)
    pairs.set(key, pair)
    const [oldest] = pairs.keys()
    if (pairs.size > MAX_PAIRS && oldest !== undefined) pairs.delete(oldest)
    return pair.loaded
  }

  return {
    async read(search, priced) {
      const pair = cached({ search, priced })
      const loaded = await pair.get()
      const areAll = addTouched(loaded, search, writtenOn(search.pools.network.name))
      if (!areAll && !loaded.isDue && performance.now() - loaded.loadedMs > RELOAD_AFTER_MS) {
        loaded.isDue = true
        // The next caller repeats a read that fails, once the order is too old.
        pair.reload().catch(() => undefined)
      }
      return { ...loaded.top, touched: [...loaded.touched] }
    },
    touch: (network, pools) => writtenOn(network).add(pools),
  }
}

/** False where a pool of the pair may belong to the first ones that is not among them. */
function addTouched(loaded: Loaded, search: PairSearch, written: TouchedPools): boolean {
  const { pools, areAll } = written.since(loaded.next)
  loaded.next = written.end
  if (!areAll) loaded.areAll = false
  for (const pool of pools) {
    const listing = search.pools.pool(pool)
    if (listing === undefined || matchIn(search, listing) === undefined) continue
    // The newest last.
    loaded.touched.delete(pool)
    loaded.touched.add(pool)
  }
  if (loaded.touched.size > MAX_LEADS) loaded.areAll = false
  for (const pool of loaded.touched) if (loaded.touched.size > MAX_LEADS) loaded.touched.delete(pool)
  return loaded.areAll
}

function topOf(row: TopRow | undefined): Omit<TopOfPair, 'touched'> {
  const byValue = row?.by_value ?? []
  const active = byValue.slice(0, MAX_LEADS).flatMap(([, , pool, isActive]) => (isActive ? [pool] : []))
  const [bySeconds, byVolume] = [row?.by_seconds ?? [], row?.by_volume ?? []].map((rows) =>
    rows.map(([, pool]) => pool),
  )
  return {
    byValue: byValue.map(([minusUsd, , pool]) => ({ pool, valueUsd: -minusUsd })),
    leads: [...new Set([...active, ...(bySeconds ?? []), ...(byVolume ?? [])])],
    count: row?.pools ?? 0,
    sound: row?.sound ?? 0,
  }
}

function namesOf({ base, quote }: PairSearch) {
  const addresses = ({ symbol, values }: TokenSet) => (symbol === '' ? values() : [])
  return {
    bases: addresses(base),
    base: base.symbol,
    quotes: addresses(quote),
    quote: quote.symbol,
    any_quote: quote === ANY_TOKEN,
  }
}

/** One for both directions. */
function keyOf({ pools, base, quote }: PairSearch): string {
  const name = (set: TokenSet) => (set === ANY_TOKEN ? '*' : set.symbol === '' ? set.values().join() : `:${set.symbol}`)
  return `${pools.network.name} ${[name(base), name(quote)].toSorted().join(' ')}`
}
