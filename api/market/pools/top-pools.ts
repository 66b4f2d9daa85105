/**
 * The first pools of a crowded pair, by value and by volume. A pool costs next to nothing, and so does a swap of one unit: a query looks at no
 * more pools than these.
 */

import type { ClickHouseClient } from '@clickhouse/client'
import type { Address } from 'viem'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { limitConcurrency } from '../../lib/concurrency-limit.ts'
import { Problem } from '../../lib/problem.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import type { TopOfPair } from './pair-order.ts'
import { type LoadedOrder, PairOrder } from './pair-order.ts'
import { ANY_TOKEN, type PairSearch, type TokenSet } from './pair-search.ts'
import { TouchedPools } from './touched-pools.ts'

const TOP_POOLS = readSql(new URL('./top-pools.sql', import.meta.url))

/** A pair with more pools is crowded. */
export const CROWDED = 32
/** Below this value a pool's price is cheap to move. */
export const SOUND_USD = 10_000

/** By value; as many by time and by volume, see top-pools.sql. */
const MAX_LEADS = 16
const MAX_PAIRS = 500
/** So many pairs take in what was touched at each write, in turn: one that no query reads does not fall behind. */
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

/** The newest search and prices: those of a start hold pools that are read again. */
type AskedPair = { search: PairSearch; priced: () => Promise<readonly TokenPrice[]> }
type Pair = { asked: AskedPair; order: PairOrder }

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

  async function load({ search, priced }: AskedPair): Promise<LoadedOrder> {
    const prices = await priced()
    const parameters = {
      network: search.pools.network.name,
      tokens: prices.map(({ token }) => token),
      usd: prices.map(({ usd }) => usd),
      ...namesOf(search),
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

  function pairOf(asked: AskedPair): Pair {
    const key = keyOf(asked.search)
    const written = writtenOn(asked.search.pools.network.name)
    const pair: Pair = pairs.get(key) ?? { asked, order: new PairOrder(() => load(pair.asked), written, freshMs) }
    pair.asked = asked
    pairs.delete(key)
    pairs.set(key, pair)
    const [oldest] = pairs.keys()
    if (pairs.size > MAX_PAIRS && oldest !== undefined) pairs.delete(oldest)
    return pair
  }

  function* inTurn(): Generator<Pair, undefined> {
    while (pairs.size > 0) yield* pairs.values()
  }
  let turn = inTurn()

  return {
    read: (search, priced) => pairOf({ search, priced }).order.read(search),
    touch(network, pools) {
      writtenOn(network).add(pools)
      for (let count = 0; count < ADVANCED_AT_ONCE; count++) {
        const { value: pair } = turn.next()
        if (pair) pair.order.advance(pair.asked.search)
        else turn = inTurn()
      }
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
