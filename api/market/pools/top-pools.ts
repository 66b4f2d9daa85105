/**
 * The first pools of a crowded pair, by value and by volume. A pool costs next to nothing, and so does a swap of one unit: a query looks at no
 * more pools than these.
 */

import type { ClickHouseClient } from '@clickhouse/client'
import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { limitConcurrency } from '../../lib/concurrency-limit.ts'
import { Problem } from '../../lib/problem.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import { type LoadedOrder, PairOrder, type TopOfPair, TouchedPools } from './pair-order.ts'
import { ANY_TOKEN, matchIn, type PairSearch, type TokenSet } from './pair-search.ts'
import type { PoolLookups } from './pool-lookups.ts'

const TOP_POOLS = readSql(new URL('./top-pools.sql', import.meta.url))

/** A pair with more pools is crowded. */
export const CROWDED = 32
/** Below this value a pool's price is cheap to move. */
export const SOUND_USD = 10_000

/** By value; as many by time and by volume, see top-pools.sql. */
const MAX_LEADS = 16
const MAX_PAIRS = 500
/** So many pairs take in touched pools at each write, in turn: one that no query reads does not fall behind. */
const ADVANCED_AT_ONCE = 4
/** A client may ask for one crowded pair after the other. */
const BOUNDS = { maxRunning: 2, maxQueued: 64, maxWaitMs: 10_000 }

/** Dollars a raw unit. */
export type TokenPrice = { token: Address; usd: number }

export type TopPools = {
  /** `priced`: the tokens of the network that have a price. */
  read(search: PairSearch, priced: () => Promise<readonly TokenPrice[]>): Promise<TopOfPair>
  /** Without pools: any of the network may have changed. */
  touch(network: NetworkName, pools?: Iterable<PoolId>): void
}

type TopRow = {
  by_value: readonly [minusUsd: number, minusVolume: number, pool: PoolId, isActive: 0 | 1][]
  by_seconds: readonly [minusSeconds: number, pool: PoolId][]
  by_volume: readonly [minusVolume: number, pool: PoolId][]
  pools: number
  sound: number
}

/** `freshMs`: with 0, nothing is kept in memory. */
export function openTopPools(reader: ClickHouseClient, pools: PoolLookups, freshMs: number): TopPools {
  const orders = new LRUCache<string, PairOrder>({ max: MAX_PAIRS })
  const written = new Map<NetworkName, TouchedPools>()
  const limited = limitConcurrency(BOUNDS)

  function writtenOn(network: NetworkName): TouchedPools {
    const pools = written.get(network) ?? new TouchedPools()
    written.set(network, pools)
    return pools
  }

  async function load(search: PairSearch, priced: () => Promise<readonly TokenPrice[]>): Promise<LoadedOrder> {
    const prices = await priced()
    const parameters = {
      network: search.network.name,
      tokens: prices.map(({ token }) => token),
      usd: prices.map(({ usd }) => usd),
      ...sidesOf(search),
      sound_usd: SOUND_USD,
    }
    const read = (only_v3: boolean) =>
      limited(() => queryRows<TopRow>(reader, TOP_POOLS, { ...parameters, only_v3 })).then(([row]) => topOf(row))
    try {
      return { top: await read(false), areAll: true }
    } catch (error) {
      // Any number of v4 pools may reach a limit of the store; a factory makes one v3 pool a fee.
      if (!(error instanceof Problem)) throw error
      return { top: await read(true), areAll: false }
    }
  }

  async function findIn(search: PairSearch, ids: readonly PoolId[]) {
    const on = pools.on(search.network.name)
    const listings = await Promise.all(ids.map((id) => on?.listing(id)))
    const isOfPair = (_: PoolId, index: number) => listings[index] && matchIn(search, listings[index])
    return { ofPair: ids.filter(isOfPair), unknown: ids.filter((_, index) => listings[index] === undefined) }
  }

  /** The orders that have not taken in touched pools in this round. */
  let waiting: PairOrder[] = []

  return {
    read(search, priced) {
      const name = nameOf(search)
      const order =
        orders.get(name) ??
        new PairOrder(
          () => load(search, priced),
          writtenOn(search.network.name),
          (ids) => findIn(search, ids),
          freshMs,
        )
      orders.set(name, order)
      return order.read()
    },
    touch(network, pools) {
      writtenOn(network).add(pools)
      if (waiting.length === 0) waiting = [...orders.values()]
      // Where the store does not answer, the next round looks again.
      for (const order of waiting.splice(0, ADVANCED_AT_ONCE)) order.advance().catch(() => undefined)
    },
  }
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

/** A side that addresses name is the first one: the statement finds pools by it. */
function sidesOf({ base, quote }: PairSearch) {
  const [one, other] = base.symbol !== '' && quote !== ANY_TOKEN ? [quote, base] : [base, quote]
  return {
    ones: one.addresses,
    one_symbol: one.symbol,
    others: other.addresses,
    other_symbol: other.symbol,
    any_other: other === ANY_TOKEN,
  }
}

/** One for both directions. */
function nameOf({ network, base, quote }: PairSearch): string {
  const name = (set: TokenSet) =>
    set === ANY_TOKEN ? '*' : set.symbol === '' ? set.addresses.join() : `:${set.symbol}`
  return `${network.name} ${[name(base), name(quote)].toSorted().join(' ')}`
}
