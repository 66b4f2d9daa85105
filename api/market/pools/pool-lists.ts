/** The pools that lists are made of: those of trusted tokens, and new ones, with their swaps by side from one bounded statement. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Address } from 'viem'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { cachedValue } from '../../lib/cached-value.ts'
import { coalesced } from '../../lib/coalesced.ts'
import { limitConcurrency } from '../../lib/concurrency-limit.ts'
import { decimalText } from '../../lib/decimal.ts'
import { Problem } from '../../lib/problem.ts'
import { isListed } from '../model/listing.ts'
import { findNewPools, type NewPoolId } from './new-pools.ts'
import { listedPools, type PoolFigures, poolsOfToken, readFigures, withSides } from './pool-figures.ts'
import { poolOn } from './pool-lookups.ts'
import { type MarketStore, type PoolState, type PoolStore, readPoolStates } from './pool-state.ts'
import type { RankedPool } from './ranked-pools.ts'
import { readSides } from './sides.ts'

/** `listed`: pools of trusted tokens; `newest`: pools of the last week that hold something. They have no order. */
export type MarketOverview = { listed: readonly PoolFigures[]; newest: readonly PoolFigures[] }

export type FiguresWithState = { figures: PoolFigures; state: RankedPool }

export type PoolLists = {
  /** At most a minute old; which pools are new, at most five. */
  overview(): Promise<MarketOverview>
  /** The pools of one token, at most a minute old: of a trusted one with other trusted tokens, else at most 100, whose swaps are not counted. */
  poolsOf(token: Address): Promise<readonly PoolFigures[]>
  /** Adds the stored state, which is read once for each of these figures. */
  withStates(rows: readonly PoolFigures[]): Promise<readonly FiguresWithState[]>
}

const FRESH_MS = 60_000
/** The statement takes 2 s after 200,000 pools with dust in them were created in a week. */
const NEW_POOLS_FRESH_MS = 300_000
/** Tokens whose pools are kept, and reads of other ones that run at once. */
const MAX_TOKENS = 100
const TOKEN_READS = { maxRunning: 2, maxQueued: 64, maxWaitMs: 5_000 }

export function openPoolLists(options: {
  reader: ClickHouseClient
  open(): Promise<MarketStore>
  now(): UnixSeconds
  /** With 0, nothing is kept in memory. */
  freshMs: number
}): PoolLists {
  const { reader, open, now, freshMs } = options
  const [fresh, newPoolsFresh] = [Math.min(60 * freshMs, FRESH_MS), Math.min(300 * freshMs, NEW_POOLS_FRESH_MS)]
  const newPools = cachedValue(async () => findNewPools(reader, await open(), now()), newPoolsFresh)
  const overview = cachedValue(async () => readOverview(reader, await open(), now(), newPools.get()), fresh)
  const ofTokens = coalesced<readonly PoolFigures[]>(fresh, MAX_TOKENS)
  const limited = limitConcurrency(TOKEN_READS)

  async function readTokenPools(store: MarketStore, token: Address): Promise<readonly PoolFigures[]> {
    return readFigures(store, await poolsOfToken(store, token), now())
  }

  return {
    overview: overview.get,
    async poolsOf(token) {
      const store = await open()
      if (!store.pools.networks.some((network) => isListed(network, token)))
        return ofTokens(token, () => limited(() => readTokenPools(store, token)))
      const { listed } = await overview.get()
      // Anyone can pair a trusted token with tokens of their own.
      return listed.filter(({ listing: { pool } }) => [pool.token0.address, pool.token1.address].includes(token))
    },
    withStates: openStateReader(open),
  }
}

async function readOverview(
  reader: ClickHouseClient,
  store: MarketStore,
  now: UnixSeconds,
  newPools: Promise<readonly NewPoolId[]>,
): Promise<MarketOverview> {
  // Together: a rejection of one that waits for the other would be unhandled.
  const [listed, ids] = await Promise.all([listedPools(store), unlessTemporary(newPools, [])])
  // A rollback may have undone one since.
  const found = (await Promise.all(ids.map(({ network, pool }) => poolOn(store.pools, pool, [network])))).flat()
  const read = await readFigures(store, [...new Set([...listed, ...found])], now)
  const sides = await unlessTemporary(readSides(reader, read, now), new Map())
  const figures = withSides(read, sides)
  const [areListed, areFound] = [new Set(listed), new Set(found)]
  return {
    listed: figures.filter(({ listing }) => areListed.has(listing)),
    newest: figures.filter(({ listing }) => areFound.has(listing)),
  }
}

/** The pools are listed also where a statement for figures beside them reaches a limit of the store: its part is left out. */
async function unlessTemporary<T>(answer: Promise<T>, instead: T): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Problem) return instead
    throw error
  }
}

/** A state is read once for each of the figures, and so as rarely as these are. */
function openStateReader(open: () => Promise<PoolStore>): PoolLists['withStates'] {
  const known = new WeakMap<PoolFigures, Promise<PoolState | undefined>>()

  return async function read(rows) {
    const missing = rows.filter((one) => !known.has(one))
    if (missing.length > 0) {
      const listings = missing.map(({ listing }) => listing)
      const states = open().then((store) => readPoolStates(store, listings))
      for (const [index, one] of missing.entries()) {
        const state = states.then((all) => all[index])
        state.catch(() => known.delete(one))
        known.set(one, state)
      }
    }
    const found = await Promise.all(rows.map(async (figures) => ({ figures, state: await known.get(figures) })))
    return found.flatMap(({ figures, state }) => (state ? { figures, state: rankedPool(figures, state) } : []))
  }
}

/** Value and day are those that the list is ordered by. */
function rankedPool({ valueUsd, price, changes, usdMicros }: PoolFigures, state: PoolState): RankedPool {
  return { ...state, valueUsd, day: { price, change: changes['24h'], volumeUsd: decimalText(usdMicros, 6) } }
}
